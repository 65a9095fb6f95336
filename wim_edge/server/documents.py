"""Routes: the uploaded documents, those named in allowed folders, and the pages of a PDF as images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Query, UploadFile
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.documents import Document
from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.documents.pdf_pages import WIDEST, page_image, page_sizes, page_words
from wim_edge.errors import LibraryError
from wim_edge.library.library import StoredDocument
from wim_edge.server.dependencies import BUSY, ERRORS, Served, StrictModel
from wim_edge.server.upload_names import UploadRoute, upload_name

router = APIRouter(prefix="/documents", tags=["documents"], responses=ERRORS, route_class=UploadRoute)
UPLOAD_BYTES = 64 * 1024**2
_JPEG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/jpeg": {}}}}


class MarkView(BaseModel):
    """A mark: from character ``start`` on, the text is on this page or in this section."""

    start: int
    page: int | None
    section: str | None


class DocumentSummary(BaseModel):
    id: int
    name: str = Field(description="As events name it.")
    file: str = Field(description="The name of its file.")
    title: str
    chars: int
    pages: int | None = Field(description="null: it has no pages.")


class DocumentCreated(DocumentSummary):
    notes: list[str] = Field(description="The imperfections of the reading.")


class DocumentDetail(DocumentSummary):
    text: str = Field(description="The text that is read; all offsets are its characters.")
    marks: list[MarkView]
    page_images: bool = Field(description="True if its pages can be shown as images.")


class PageView(BaseModel):
    """A page: its size in points, and the characters ``[start, end)`` of the document's text on it."""

    width: float
    height: float
    start: int
    end: int


class PageWords(BaseModel):
    """The words of a page, and their places on it."""

    words: list[tuple[int, int, float, float, float, float]] = Field(
        description="The first character in the document's text and the one after the last; then left, top, right and "
        "bottom as shares of the page's width and height. A word that is broken over two lines comes twice."
    )


class AddFileRequest(StrictModel):
    path: str = Field(max_length=4096, description="A file of an allowed folder: its path, or its path in the folder.")


@router.get("")
def list_documents(served: Served) -> list[DocumentSummary]:
    """Lists all documents, in the order in which they came."""
    return [DocumentSummary(**vars(one), file=Path(one.path).name) for one in served.store.entries()]


@router.post("", status_code=201, max_body_size=UPLOAD_BYTES, responses=BUSY)
async def upload_document(
    served: Served, file: Annotated[UploadFile, File(description=f"A file: {ANY_OF_THEM}.")]
) -> DocumentCreated:
    """Keeps an uploaded file. The same file under the same name is kept once."""
    data = await file.read()
    kept, notes = await served.writing(served.store.upload, upload_name(file), data)
    return DocumentCreated(**_facts(kept), notes=list(notes))


@router.post("/named", status_code=201, responses=BUSY)
async def name_document(served: Served, named: AddFileRequest) -> DocumentCreated:
    """Keeps a file of this machine, from an allowed folder, as it is now."""
    kept, notes = await served.writing(served.store.name, named.path)
    return DocumentCreated(**_facts(kept), notes=list(notes))


@router.get("/{document}")
def get_document(served: Served, document: int) -> DocumentDetail:
    """Returns a document with its whole text."""
    return detail_of(served.store.document(document), page_images=served.store.pdf(document) is not None)


@router.delete("/{document}", status_code=204, responses=BUSY)
async def remove_document(served: Served, document: int) -> None:
    """Removes a document, and the questions that have no other one."""
    await served.writing(served.store.remove, document)
    ids = {entry.id for entry in await run_in_threadpool(served.store.entries)}
    for question in served.history.all(document):
        if not ids.intersection(question.documents):
            served.forget(question)


@router.get("/{document}/pages")
def list_pages(served: Served, document: int) -> list[PageView]:
    """Lists the pages of a PDF, in their order. 404 for a document without page images."""
    path = _pdf(served, document)
    spans, at, found = _spans(served.store.document(document).document), 0, []
    for number, (width, height) in enumerate(page_sizes(path), 1):
        start, at = spans.get(number, (at, at))
        found.append(PageView(width=width, height=height, start=start, end=at))
    return found


@router.get("/{document}/pages/{page}/words")
def get_words(served: Served, document: int, page: int) -> PageWords:
    """Returns the places of the words of a page. Pages count from 1."""
    path, text = _pdf(served, document), served.store.document(document).document
    start, end = _spans(text).get(page, (0, 0))
    found = page_words(path, page, text.text[start:end])
    return PageWords(words=[(start + one.start, start + one.end, *one.box) for one in found])


@router.get("/{document}/pages/{page}/image", response_class=Response, responses=_JPEG)
def get_image(
    served: Served, document: int, page: int, width: Annotated[int, Query(ge=16, le=WIDEST)] = 1200
) -> Response:
    """Returns a page as JPEG, this many pixels wide. Pages count from 1."""
    return Response(page_image(_pdf(served, document), page, width), media_type="image/jpeg")


def detail_of(kept: StoredDocument, *, page_images: bool) -> DocumentDetail:
    """Returns a document as the API shows it."""
    marks = [MarkView(start=mark.start, page=mark.page, section=mark.section) for mark in kept.document.marks]
    return DocumentDetail(**_facts(kept), text=kept.document.text, marks=marks, page_images=page_images)


def _facts(kept: StoredDocument) -> dict[str, Any]:
    document = kept.document
    pages = max((mark.page for mark in document.marks if mark.page is not None), default=None)
    file = document.path.name if document.path else document.name
    return {"id": kept.id, "name": document.name, "file": file, "title": kept.title, "chars": len(document.text),
            "pages": pages}  # fmt: skip


def _pdf(served: Served, number: int) -> Path:
    path = served.store.pdf(number)
    if path is None:
        raise LibraryError(f"document {number} has no page images", "Its text is there all the same.")
    return path


def _spans(document: Document) -> dict[int, tuple[int, int]]:
    """Returns the characters ``[start, end)`` of each page with text."""
    starts = [mark for mark in document.marks if mark.page is not None]
    ends = [*(mark.start for mark in starts[1:]), len(document.text)]
    return {mark.page: (mark.start, end) for mark, end in zip(starts, ends, strict=True) if mark.page is not None}
