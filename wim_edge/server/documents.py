"""Routes for documents (uploaded, or files in allowed folders), the pages of PDFs, and libraries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote, unquote_to_bytes

from fastapi import APIRouter, Depends, File, Query, UploadFile
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette import datastructures
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from wim_edge.documents import Document
from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.documents.pdf_pages import WIDEST, page_image, page_sizes, page_words
from wim_edge.errors import InvalidRequestError, LibraryError, WimEdgeError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.library.ingest import IngestResult, sync
from wim_edge.library.library import Library, StoredDocument, known_libraries
from wim_edge.reading.events import Event
from wim_edge.server.dependencies import BUSY, ERRORS, Served, StrictModel, sse_events
from wim_edge.server.uploads import LIBRARY, MAX_BYTES, FileView
from wim_edge.settings import Limits

# The name of an uploaded file, as clients send it in a multipart form:
#   filename="a%22b.txt"                browsers: three characters are escaped
#   filename="%E6%96%87.txt"            aiohttp: everything is escaped
#   filename*=UTF-8''%E6%96%87.txt      RFC 5987, which takes precedence over `filename`
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED = re.compile(r";\s*filename\*\s*=\s*([^;]*)", re.IGNORECASE)
_PLAIN = re.compile(r";\s*filename\s*=", re.IGNORECASE)
_BROWSER_ESCAPES = (("%22", '"'), ("%0D", " "), ("%0A", " "))


class _UploadRoute(APIRoute):
    """A route that accepts uploads named by `filename*` alone (RFC 5987). Starlette takes these for text fields."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_upload(request: Request) -> Response:
            return await handle(_UploadRequest(request.scope, request.receive))

        return handle_upload


class _UploadRequest(Request):
    async def _get_form(self, **limits: Any) -> datastructures.FormData:
        if self._form is None and self.headers.get("content-type", "").startswith("multipart/form-data"):
            try:
                self._form = await _FormParser(self.headers, self.stream(), **limits).parse()
            except MultiPartException as error:
                raise HTTPException(400, error.message) from error
        return await super()._get_form(**limits)


class _FormParser(MultiPartParser):
    def on_header_end(self) -> None:
        super().on_header_end()
        header = self._current_part.content_disposition or b""
        unquoted = _QUOTED.sub('""', header.decode("latin-1"))
        if _EXTENDED.search(unquoted) and not _PLAIN.search(unquoted):
            self._current_part.content_disposition = header + b'; filename="document"'


router = APIRouter(tags=["documents"], responses=ERRORS, route_class=_UploadRoute)
_JPEG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/jpeg": {}}}}


class MarkView(BaseModel):
    """The page, section or row of the text from character ``start`` on. A null field is as in the mark before."""

    start: int
    page: int | None
    section: str | None
    row: int | None


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
    """A page of a PDF: its size in points, and the offsets ``[start, end)`` of its text in the document's text."""

    width: float
    height: float
    start: int
    end: int


class PageWords(BaseModel):
    """The words of a page, each with its offsets in the document's text and its box on the page."""

    words: list[tuple[int, int, float, float, float, float]] = Field(
        description="The first character in the document's text and the one after the last; then left, top, right and "
        "bottom as shares of the page's width and height. A word that is broken over two lines comes twice."
    )


class AddFileRequest(StrictModel):
    path: str = Field(max_length=4096, description="A file of an allowed folder: its path, or its path in the folder.")


@router.get("/documents")
def list_documents(served: Served) -> list[DocumentSummary]:
    """Lists all documents, in the order in which they were added."""
    return [DocumentSummary(**vars(one), file=Path(one.path).name) for one in served.store.entries()]


@router.post("/documents", status_code=201, max_body_size=MAX_BYTES, responses=BUSY)
async def upload_document(
    served: Served, file: Annotated[UploadFile, File(description=f"A file: {ANY_OF_THEM}.")]
) -> DocumentCreated:
    """Stores an uploaded file as a document. The same file under the same name is stored only once."""
    data = await file.read()
    kept, notes = await served.writing(served.store.upload, _upload_name(file), data)
    return DocumentCreated(**_facts(kept), notes=list(notes))


@router.post("/documents/named", status_code=201, responses=BUSY)
async def name_document(served: Served, named: AddFileRequest) -> DocumentCreated:
    """Stores a file on the server's machine as a document, as it is now. The file must be in an allowed folder."""
    kept, notes = await served.writing(served.store.name, named.path)
    return DocumentCreated(**_facts(kept), notes=list(notes))


@router.get("/documents/{document}")
def get_document(served: Served, document: int) -> DocumentDetail:
    """Returns a document with its whole text."""
    return _detail_of(served.store.document(document), page_images=served.store.pdf(document) is not None)


@router.delete("/documents/{document}", status_code=204, responses=BUSY)
async def remove_document(served: Served, document: int) -> None:
    """Removes a document, its saved readings, and the questions about it that have no other document."""
    path = await served.writing(served.store.remove, document)
    ids = {entry.id for entry in await run_in_threadpool(served.store.entries)}
    for question in served.history.all(document):
        if not ids.intersection(question.documents):
            served.forget(question)
    with suppress(*FAILURES, WimEdgeError):  # else they stay
        await served.writing(lambda: ReadingStore.of(served.settings).clear(path))


@router.get("/documents/{document}/pages")
def list_pages(served: Served, document: int) -> list[PageView]:
    """Lists the pages of a PDF, the first page first. Answers 404 if the document has no page images."""
    path = _pdf(served, document)
    spans, at, found = _spans(served.store.document(document).document), 0, []
    for number, (width, height) in enumerate(page_sizes(path), 1):
        start, at = spans.get(number, (at, at))
        found.append(PageView(width=width, height=height, start=start, end=at))
    return found


@router.get("/documents/{document}/pages/{page}/words")
def get_words(served: Served, document: int, page: int) -> PageWords:
    """Returns the words of a page (numbered from 1), each with its offsets in the text and its box on the page."""
    path, text = _pdf(served, document), served.store.document(document).document
    start, end = _spans(text).get(page, (0, 0))
    found = page_words(path, page, text.text[start:end])
    return PageWords(words=[(start + one.start, start + one.end, *one.box) for one in found])


@router.get("/documents/{document}/pages/{page}/image", response_class=Response, responses=_JPEG)
def get_image(
    served: Served, document: int, page: int, width: Annotated[int, Query(ge=16, le=WIDEST)] = 1200
) -> Response:
    """Returns a JPEG image of a page (numbered from 1), ``width`` pixels wide."""
    return Response(page_image(_pdf(served, document), page, width), media_type="image/jpeg")


def _detail_of(kept: StoredDocument, *, page_images: bool) -> DocumentDetail:
    marks = [MarkView.model_validate(mark, from_attributes=True) for mark in kept.document.marks]
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
    """Returns {page number: offsets ``[start, end)`` of the page's text}. A page without text is left out."""
    starts = [mark for mark in document.marks if mark.page is not None]
    ends = [*(mark.start for mark in starts[1:]), len(document.text)]
    return {mark.page: (mark.start, end) for mark, end in zip(starts, ends, strict=True) if mark.page is not None}


def _upload_name(file: UploadFile) -> str:
    """Returns the name of an uploaded file. Raises InvalidRequestError for a `filename*` that cannot be decoded."""
    found = _EXTENDED.search(_QUOTED.sub('""', file.headers.get("content-disposition", "")))
    if found:
        try:
            charset, _, escaped = found[1].strip().split("'", 2)
            return unquote_to_bytes(escaped).decode(charset)
        except (LookupError, ValueError) as error:
            raise InvalidRequestError(
                "filename* of the upload cannot be decoded", "Send filename*=UTF-8''NAME with NAME percent-encoded."
            ) from error
    name = file.filename or "document"
    decoded = unquote(name)
    if not decoded.isascii() and quote(decoded, safe="") == name:  # a browser does not escape the whole name
        return decoded
    for escaped, char in _BROWSER_ESCAPES:
        name = name.replace(escaped, char)
    return name


# Libraries


class LibraryView(BaseModel):
    name: str
    documents: int
    has_files: bool = Field(description="True if it has files or folders to synchronise with.")


@dataclass(frozen=True)
class FileSynced(IngestResult, Event):
    """The result of a sync for one changed file of a library, or for one scanned page whose text was recognised."""

    type = "sync.file"


@dataclass(frozen=True)
class SyncFinished(Event):
    """The last event of a sync: all files of the library have been compared with its documents."""

    type = "sync.finished"
    files: dict[str, int]
    """The number of files in each state, by state: unchanged ones too. A state without files is left out."""


@router.get("/libraries")
def list_libraries() -> list[LibraryView]:
    """Lists the user's libraries by name. Leaves out damaged and empty libraries, and those that store uploads."""
    found = []
    for name in known_libraries():
        with suppress(LibraryError):  # leaves out damaged libraries; `wim-edge library list` reports them
            if name != LIBRARY and not name.startswith(f"{LIBRARY}."):  # stores uploads
                library = Library(name)
                found.append(LibraryView(name=name, documents=len(library), has_files=bool(library.roots())))
    return [one for one in found if one.documents or one.has_files]


def _opened(library: str) -> Library:
    return Library(library)


@router.post("/libraries/{library}/sync", response_class=EventSourceResponse)
async def sync_library(served: Served, opened: Annotated[Library, Depends(_opened)]) -> AsyncIterator[ServerSentEvent]:
    """Updates a library from its files and folders, as `wim-edge library sync` does. Streams an event for each changed
    file and each recognised page. The sync stops if the client disconnects; the next request continues it."""
    async for event in sse_events(_synced(opened, served.settings)):
        yield event


async def _synced(library: Library, limits: Limits) -> AsyncGenerator[dict[str, Any]]:
    counts: Counter[str] = Counter()
    async for one in iterate_in_threadpool(sync(library, limits=limits)):
        counts[one.state] += one.state != "recognised"
        if one.state not in ("unchanged", "skipped"):
            yield FileSynced(**vars(one)).to_dict()
    yield SyncFinished(dict(+counts)).to_dict()


@router.get("/libraries/{library}/document")
def get_library_document(
    library: str, name: Annotated[str, Query(max_length=1000, description="As events name it.")]
) -> DocumentDetail:
    """Returns a document of a library, found by its name in events, with its whole text."""
    kept = Library(library).find(name)
    if kept is None:
        raise LibraryError(f"library {library} has no document of that name", "Events name the recalled ones.")
    return _detail_of(kept, page_images=False)


@router.get("/files")
def list_files(served: Served) -> list[FileView]:
    """Lists at most 1,000 files of the allowed folders, in the formats that can become documents."""
    return served.store.folders.files()
