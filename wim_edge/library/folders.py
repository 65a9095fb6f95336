"""The folders of libraries on disk: one each, with the documents and their indexes."""

from __future__ import annotations

import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.settings import NO_DEVICE, Paths

_NAME = re.compile(rf"{NO_DEVICE}[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}(?<!\.)")


def folder_of(name: str, paths: Paths | None = None) -> Path:
    """Returns the folder of a library of this name. Raises InvalidRequestError for a name that is not allowed."""
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} is no name for a library",
            "Letters, digits, dots, dashes and underscores, 64 at most, no dot at the end, and no device of Windows.",
        )
    return (paths or Paths.from_environment()).libraries / name


def known_libraries(paths: Paths | None = None) -> list[str]:
    """Returns the names of all libraries."""
    folder = (paths or Paths.from_environment()).libraries
    found = (path.parent.name for path in folder.glob("*/documents.sqlite"))
    return sorted(name for name in found if _NAME.fullmatch(name))


def remove_library(name: str) -> int:
    """Deletes a library, damaged or not, with its indexes; returns the bytes freed. Raises LibraryError."""
    folder = folder_of(name)
    if not folder.is_dir():
        raise LibraryError(f"there is no library {name}", "wim-edge library list")
    freed = size_of(folder)
    try:
        away = folder.with_name(f".{name}-{uuid.uuid4().hex}")  # at once, whoever may be writing there
        folder.rename(away)
        if away.is_symlink():  # what it leads to is not ours
            away.unlink()
        else:
            shutil.rmtree(away)
    except OSError as error:
        hint = "Close what uses it, or check the disk."
        raise LibraryError(f"library {name}: {error.strerror or error}", hint) from error
    return freed


def size_of(folder: Path) -> int:
    """Returns the bytes of a folder's files."""
    total = 0
    for path in folder.glob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total
