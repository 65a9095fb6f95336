"""Routes: the libraries that can be asked, and the files that can be named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.documents.document import well_formed
from wim_edge.errors import LibraryError
from wim_edge.library.folders import known_libraries
from wim_edge.library.library import Library
from wim_edge.server.dependencies import ERRORS, Served
from wim_edge.server.documents import DocumentDetail, detail_of
from wim_edge.server.uploads import LIBRARY

router = APIRouter(tags=["documents"], responses=ERRORS)


class LibraryView(BaseModel):
    name: str
    documents: int


class FileView(BaseModel):
    path: str = Field(description="As POST /api/documents/named takes it.")
    folder: str = Field(description="The folder that was named when the server was started.")
    name: str = Field(description="Its path in that folder.")


@router.get("/libraries")
async def list_libraries() -> list[LibraryView]:
    """Lists the libraries that `wim-edge library add` has made and that can be read, by name."""
    return await run_in_threadpool(_libraries)


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
                found.append(LibraryView(name=name, documents=len(Library(name))))
        except LibraryError:
            continue  # one that is damaged cannot be asked; `wim-edge library list` tells
    return [one for one in found if one.documents]
