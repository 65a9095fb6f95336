"""Routes: libraries and the files of allowed folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import iterate_in_threadpool

from wim_edge.errors import LibraryError
from wim_edge.library.ingest import sync
from wim_edge.library.library import Library, known_libraries
from wim_edge.reading.events import Event
from wim_edge.server.allowed_files import FileView
from wim_edge.server.dependencies import ERRORS, Served
from wim_edge.server.documents import DocumentDetail, detail_of
from wim_edge.server.uploads import LIBRARY

router = APIRouter(tags=["documents"], responses=ERRORS)


class LibraryView(BaseModel):
    name: str
    documents: int
    has_files: bool = Field(description="True if it has files or folders to synchronise with.")


@dataclass(frozen=True)
class FileSynced(Event):
    """A file of a library that has changed, or a page of it whose text was recognised."""

    type = "sync.file"
    path: str
    state: str
    """One of added, changed, moved, removed, gone (kept, as its folder is empty), failed, recognised (of a page)."""
    documents: int
    note: str
    """The reason for a failure, or what is missing of the file."""


@dataclass(frozen=True)
class SyncFinished(Event):
    """A library is in step with its files."""

    type = "sync.finished"
    files: dict[str, int]
    """The number of files of each state, including unchanged ones."""


@router.get("/libraries")
def list_libraries() -> list[LibraryView]:
    """Lists the readable libraries that `wim-edge library add` has made, by name."""
    found = []
    for name in known_libraries():
        with suppress(LibraryError):  # a damaged one cannot be asked; `wim-edge library list` reports it
            if name != LIBRARY and not name.startswith(f"{LIBRARY}."):  # a shelf
                library = Library(name)
                found.append(LibraryView(name=name, documents=len(library), has_files=bool(library.roots())))
    return [one for one in found if one.documents or one.has_files]


def _opened(library: str) -> Library:
    return Library(library)


@router.post("/libraries/{library}/sync", response_class=EventSourceResponse)
async def sync_library(served: Served, opened: Annotated[Library, Depends(_opened)]) -> AsyncIterator[ServerSentEvent]:
    """Brings a library in step with its files and folders, as `wim-edge library sync` does, and streams the result of
    each changed file and of each page whose text is recognised. Stops when the client disconnects, and continues from
    there the next time."""
    counts: Counter[str] = Counter()
    n = 0
    async for one in iterate_in_threadpool(sync(opened, limits=served.settings)):
        counts[one.state] += one.state != "recognised"
        if one.state not in ("unchanged", "skipped"):
            yield _sse(FileSynced(one.path, one.state, one.documents, one.note), n)
            n += 1
    yield _sse(SyncFinished(dict(+counts)), n)


def _sse(event: Event, number: int) -> ServerSentEvent:
    return ServerSentEvent(data=event.to_dict(), event=event.type, id=str(number))


@router.get("/libraries/{library}/document")
def get_library_document(
    library: str, name: Annotated[str, Query(max_length=1000, description="As events name it.")]
) -> DocumentDetail:
    """Returns a document of a library with its whole text."""
    kept = Library(library).find(name)
    if kept is None:
        raise LibraryError(f"library {library} has no document of that name", "Events name the recalled ones.")
    return detail_of(kept, page_images=False)


@router.get("/files")
def list_files(served: Served) -> list[FileView]:
    """Lists the files of the allowed folders, at most 1,000."""
    return served.store.folders.files()
