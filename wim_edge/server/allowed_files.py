"""Access to the files of the allowed folders, and to no others, whatever is swapped while they are opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.ingest import files_of

MOST_BYTES = 64 * 1024**2
MOST_FILES = 1000  # that are listed


class AllowedFolders:
    """The folders whose files may be named; links out of them are not followed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.paths = [folder.resolve() for folder in folders]

    def files(self, within: str = "") -> list[str]:
        """Returns the paths of files that may hold text, `MOST_FILES` at most: all, or those ``within`` a folder, which
        is given by its path or its path in one of the folders."""
        found = (
            str(file) for folder in self.paths for file in files_of(folder)
            if isinstance(file, Path) and (not within or (folder / within) in file.parents)
        )  # fmt: skip
        return list(islice(found, MOST_FILES))

    def read(self, path: str) -> tuple[Path, bytes]:
        """Returns a file's own path and its bytes. ``path``: its path, or its path in one of the folders.

        Raises InvalidRequestError for a path that may not be read, in the same words whether it exists or not, and
        DocumentError for a file that is too large.
        """
        for folder in self.paths:
            try:
                found = (folder / path).resolve(strict=True)  # an absolute path stands for itself
                str(found).encode()
                inside = found.relative_to(folder)
                with os.fdopen(_opened(folder, inside), "rb") as file:
                    if S_ISREG(os.fstat(file.fileno()).st_mode):
                        data = file.read(MOST_BYTES + 1)
                        break
            except (OSError, ValueError, RuntimeError):  # absent, NUL in it, no UTF-8, outside, a circle of links
                continue
        else:
            shown = ", ".join(map(str, self.paths)) or "none were named"
            raise InvalidRequestError("the path is no file of a folder that may be read", f"Folders: {shown}.")
        if len(data) > MOST_BYTES:
            raise DocumentError(f"{found.name}: larger than {MOST_BYTES >> 20} MiB", "Split it and read the parts.")
        return found, data


def _opened(folder: Path, inside: Path) -> int:
    """Opens a file and returns its descriptor. No link is followed on the way, even one that came after the path was
    resolved, and a pipe that has taken the file's place is not waited for."""
    if sys.platform == "win32":
        return os.open(folder / inside, os.O_RDONLY | os.O_BINARY)
    else:  # noqa: RET505  # as mypy tells the systems apart
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
