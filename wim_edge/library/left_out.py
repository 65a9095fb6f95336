"""Files and folders that the patterns of a `.wimignore` exclude, as a .gitignore does."""

from __future__ import annotations

import os
from typing import Any

LEFT_OUT = ".wimignore"


class LeftOut:
    """The patterns of the folders that were visited so far; each applies to its own folder's content."""

    def __init__(self) -> None:
        self._rules: list[tuple[str, Any]] = []

    def read(self, folder: str) -> None:
        """Reads the patterns of a folder; a file that cannot be read excludes nothing."""
        from pathspec import GitIgnoreSpec

        try:
            with open(os.path.join(folder, LEFT_OUT), encoding="utf-8", errors="replace") as file:
                self._rules.append((folder, GitIgnoreSpec.from_lines(file)))
        except (OSError, ValueError):
            return

    def match(self, folder: str, name: str) -> bool:
        """Returns True if the file of this name in the folder, or the folder if it ends in a slash, is excluded."""
        for base, spec in reversed(self._rules):  # the nearest folder's first
            if folder == base or folder.startswith(base + os.sep):
                found = spec.check_file(os.path.join(os.path.relpath(folder, base), name)).include
                if found is not None:
                    return bool(found)
        return False
