"""Routes: the libraries that can be asked, and the files that can be named."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool

from wim_edge.documents.document import well_formed
from wim_edge.errors import LibraryError
from wim_edge.library.folders import known_libraries
from wim_edge.library.ingest import sync
from wim_edge.library.library import Library
from wim_edge.reading.events import Event
from wim_edge.server.dependencies import ERRORS, Served
from wim_edge.server.documents import DocumentDetail, detail_of
from wim_edge.server.uploads import LIBRARY

router = APIRouter(tags=["documents"], responses=ERRORS)


class LibraryView(BaseModel):
    name: str
    documents: int
    has_files: bool = Field(description="Whether it was made of files or folders, which it can be in step with.")


@dataclass(frozen=True)
class FileSynced(Event):
    """A file of a library that was not as it was, or a page of it whose text was recognised."""

    type = "sync.file"
    path: str
    state: str
    """One of added, changed, moved, removed, gone (kept, as its folder is empty), failed, recognised (of a page)."""
    documents: int
    note: str
    """The reason why it failed, or what is missing of it."""


@dataclass(frozen=True)
class SyncFinished(Event):
    """A library is in step with its files."""

    type = "sync.finished"
    files: dict[str, int]
    """The number of files of each state, the unchanged ones too."""


class FileView(BaseModel):
    path: str = Field(description="As POST /api/documents/named takes it.")
    folder: str = Field(description="The folder that was named when the server was started.")
    name: str = Field(description="Its path in that folder.")


@router.get("/libraries")
async def list_libraries() -> list[LibraryView]:
    """Lists the libraries that `wim-edge library add` has made and that can be read, by name."""
    return await run_in_threadpool(_libraries)


def _opened(library: str) -> Library:
    return Library(library)


@router.post("/libraries/{library}/sync", response_class=EventSourceResponse)
async def sync_library(served: Served, opened: Annotated[Library, Depends(_opened)]) -> AsyncIterator[ServerSentEvent]:
    """Brings a library in step with the files and folders that were added to it, as `wim-edge library sync` does, and
    streams the result of each file that is not as it was, and of each page whose text is recognised. It stops when
    nobody watches, and goes on from there the next time."""
    counts: Counter[str] = Counter()
    told = 0
    async for one in iterate_in_threadpool(sync(opened, limits=served.settings)):
        counts[one.state] += one.state != "recognised"
        if one.state not in ("unchanged", "skipped"):
            yield _sent(FileSynced(one.path, one.state, one.documents, one.note), told)
            told += 1
    yield _sent(SyncFinished({state: n for state, n in counts.items() if n}), told)


def _sent(event: Event, number: int) -> ServerSentEvent:
    return ServerSentEvent(data=event.to_dict(), event=event.type, id=str(number))


@router.get("/libraries/{library}/document")
async def get_library_document(
    library: str, name: Annotated[str, Query(max_length=1000, description="As events name it.")]
) -> DocumentDetail:
    """Returns a document of a library with its whole text."""

    def found() -> DocumentDetail:
        kept = Library(library).find(name)
        if kept is None:
            raise LibraryError(f"library {library} holds no document of that name", "Events name those recalled.")
        return detail_of(kept, page_images=False)

    return await run_in_threadpool(found)


@router.get("/files")
async def list_files(served: Served) -> list[FileView]:
    """Lists files of the folders that were named when the server was started, at most 1,000."""

    def found() -> list[FileView]:
        folders = served.store.folders
        files = []
        for path in map(Path, folders.files()):
            folder = next(one for one in folders.paths if path.is_relative_to(one))
            name = path.relative_to(folder).as_posix()
            files.append(FileView(path=well_formed(str(path)), folder=well_formed(str(folder)), name=well_formed(name)))
        return files

    return await run_in_threadpool(found)


def _libraries() -> list[LibraryView]:
    found = []
    for name in known_libraries():
        try:
            if name != LIBRARY and not name.startswith(f"{LIBRARY}."):  # what was given is on the shelf
                library = Library(name)
                found.append(LibraryView(name=name, documents=len(library), has_files=bool(library.roots())))
        except LibraryError:
            continue  # one that is damaged cannot be asked; `wim-edge library list` tells
    return [one for one in found if one.documents or one.has_files]
