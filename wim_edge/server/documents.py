"""Routes: the documents that were given to the server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    pages: int | None = Field(description="None: it has no pages.")


class DocumentCreated(DocumentSummary):
    notes: list[str] = Field(description="How the reading was less than perfect.")


class DocumentDetail(DocumentSummary):
    text: str = Field(description="What is read; all offsets are characters of it.")
    marks: list[MarkView]
    page_images: bool = Field(description="Its pages can be shown as they look.")


class AddFileRequest(StrictModel):
    path: str = Field(
        max_length=4096, description="A file of a folder that was named when the server was started: its path, or its "
        "path in that folder.",
    )  # fmt: skip


@router.get("")
async def list_documents(served: Served) -> list[DocumentSummary]:
    """Lists all documents, in the order in which they came."""
    found = await run_in_threadpool(served.store.entries)
    return [
        DocumentSummary(
            id=one.id, name=one.name, file=Path(one.path).name, title=one.title, chars=one.chars, pages=one.pages
        )
        for one in found
    ]  # fmt: skip


@router.post("", status_code=201, max_body_size=UPLOAD_BYTES, responses=BUSY)
async def upload_document(
    served: Served, file: Annotated[UploadFile, File(description=f"A file: {ANY_OF_THEM}.")]
) -> DocumentCreated:
    """Keeps an uploaded file. The same file under the same name is kept once."""
    data = await file.read()
    kept, notes = await served.writing(served.store.upload, upload_name(file), data)
    return DocumentCreated(**vars(_listed(kept)), notes=list(notes))


@router.post("/named", status_code=201, responses=BUSY)
async def name_document(served: Served, named: AddFileRequest) -> DocumentCreated:
    """Takes a file of this machine, from a folder that was named when the server was started."""
    kept, notes = await served.writing(served.store.name, named.path)
    return DocumentCreated(**vars(_listed(kept)), notes=list(notes))


@router.get("/{document}")
async def get_document(served: Served, document: int) -> DocumentDetail:
    """Returns a document with its whole text."""
    kept = await run_in_threadpool(served.store.document, document)
    return detail_of(kept, page_images=served.store.pdf(kept.id) is not None)


@router.delete("/{document}", status_code=204, responses=BUSY)
async def remove_document(served: Served, document: int) -> None:
    """Removes a document, and the questions of which no document is left."""
    await served.writing(served.store.remove, document)
    there = {entry.id for entry in await run_in_threadpool(served.store.entries)}
    for question in served.history.all(document):
        if not there.intersection(question.documents):
            served.forget(question)


def detail_of(kept: StoredDocument, *, page_images: bool) -> DocumentDetail:
    """Returns a document as the API shows it."""
    marks = [MarkView(start=mark.start, page=mark.page, section=mark.section) for mark in kept.document.marks]
    return DocumentDetail(**vars(_listed(kept)), text=kept.document.text, marks=marks, page_images=page_images)


def _listed(kept: StoredDocument) -> DocumentSummary:
    pages = max((mark.page for mark in kept.document.marks if mark.page is not None), default=None)
    file = kept.document.path.name if kept.document.path else kept.document.name
    return DocumentSummary(
        id=kept.id, name=kept.document.name, file=file, title=kept.title, chars=len(kept.document.text), pages=pages
    )
