"""Access to the files of the allowed folders, and to no others, whatever is swapped while they are opened."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from pydantic import BaseModel, Field

from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.ingest import files_of

MAX_BYTES = 64 * 1024**2
MAX_FILES = 1000  # in a list
_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")


class FileView(BaseModel):
    path: str = Field(description="As POST /api/documents/named takes it.")
    folder: str = Field(description="The folder that was named when the server was started.")
    name: str = Field(description="Its path in that folder.")


def printable(path: Path) -> str:
    """Returns a path with bytes that are not UTF-8 as escapes (``\\xfc``): JSON can hold it, two names stay two."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _readings(path: str) -> tuple[str, str]:
    """Returns what a path may mean: the path itself, or the one that `printable` shows as this."""
    return path, os.fsdecode(_ESCAPED_BYTE.sub(lambda found: bytes([int(found[1], 16)]), path.encode()))


class AllowedFolders:
    """The folders whose files may be named. Links out of them are not followed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self.paths = [printable(folder) for folder in self._folders]

    def files(self, within: str = "") -> list[FileView]:
        """Returns the files that may hold text, at most `MAX_FILES`: all of them, or those ``within`` a folder, named
        by its path or by its path in one of the folders."""
        found = (
            FileView(path=printable(file), folder=printable(folder), name=printable(file.relative_to(folder)))
            for folder in self._folders for file in files_of(folder)
            if isinstance(file, Path) and (not within or any(folder / one in file.parents for one in _readings(within)))
        )  # fmt: skip
        return list(islice(found, MAX_FILES))

    def read(self, path: str) -> tuple[Path, bytes]:
        """Returns a file's own path (as `printable` shows it) and its bytes. ``path``: its path, or its path in one of
        the folders.

        Raises InvalidRequestError for a path that may not be read, with the same message whether it exists or not, and
        DocumentError for a file that is too large.
        """
        for folder, named in ((folder, named) for folder in self._folders for named in _readings(path)):
            try:
                found = (folder / named).resolve(strict=True)  # an absolute path replaces the folder
                with os.fdopen(_opened(folder, found.relative_to(folder)), "rb") as file:
                    if S_ISREG(os.fstat(file.fileno()).st_mode):
                        data = file.read(MAX_BYTES + 1)
                        break
            except (OSError, ValueError, RuntimeError):  # absent, outside, contains NUL, a circle of links
                continue
        else:
            folders = ", ".join(self.paths) or "none were named"
            raise InvalidRequestError("the path is no file of a folder that may be read", f"Folders: {folders}.")
        if len(data) > MAX_BYTES:
            raise DocumentError(f"{found.name}: larger than {MAX_BYTES >> 20} MiB", "Split it and read the parts.")
        return Path(printable(found)), data


def _opened(folder: Path, inside: Path) -> int:
    """Opens a file and returns its descriptor. Follows no link, even one that appears after the path was resolved, and
    does not wait for a pipe that has replaced the file."""
    if sys.platform == "win32":
        return os.open(folder / inside, os.O_RDONLY | os.O_BINARY)
    else:  # noqa: RET505  # mypy needs the branch to tell the systems apart
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in inside.parts[:-1]:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
                os.close(at)
                at = below
            name = inside.name or "."
            return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        finally:
            os.close(at)
