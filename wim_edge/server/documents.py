"""Routes: the uploaded documents, and those named in allowed folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, UploadFile
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.library.library import StoredDocument
from wim_edge.server.dependencies import BUSY, ERRORS, Served, StrictModel
from wim_edge.server.upload_names import UploadRoute, upload_name

router = APIRouter(prefix="/documents", tags=["documents"], responses=ERRORS, route_class=UploadRoute)
UPLOAD_BYTES = 64 * 1024**2


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


class AddFileRequest(StrictModel):
    path: str = Field(max_length=4096, description="A file of an allowed folder: its path, or its path in the folder.")


@router.get("")
async def list_documents(served: Served) -> list[DocumentSummary]:
    """Lists all documents, in the order in which they came."""
    found = await run_in_threadpool(served.store.entries)
    return [DocumentSummary(**vars(one), file=Path(one.path).name) for one in found]


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
async def get_document(served: Served, document: int) -> DocumentDetail:
    """Returns a document with its whole text."""
    kept = await run_in_threadpool(served.store.document, document)
    return detail_of(kept, page_images=served.store.pdf(kept.id) is not None)


@router.delete("/{document}", status_code=204, responses=BUSY)
async def remove_document(served: Served, document: int) -> None:
    """Removes a document, and the questions that have no other one."""
    await served.writing(served.store.remove, document)
    ids = {entry.id for entry in await run_in_threadpool(served.store.entries)}
    for question in served.history.all(document):
        if not ids.intersection(question.documents):
            served.forget(question)


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
