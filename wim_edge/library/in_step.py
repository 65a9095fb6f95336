"""A library is brought in step with its files before it is asked."""

from __future__ import annotations

import os
import time
from pathlib import PurePath

from wim_edge.library.ingest import sync
from wim_edge.library.library import Library
from wim_edge.settings import Limits

SECONDS = 5.0
"""The time that a question waits for files that are new or have changed."""
_AGAIN = 30.0

_SHOWN = 3
_DONE = {"added": "new", "changed": "changed", "moved": "moved", "removed": "deleted or left out"}
_LEFT = {"waiting": "new or changed, but not read yet", "gone": "not there, but still in the library"}
"""The words for the files of each state (`ingest.IngestResult`)."""


class InStep:
    """Compares libraries with their files, each at most every `_AGAIN` seconds."""

    def __init__(self) -> None:
        self._compared: dict[str, float] = {}

    def bring(self, library: Library, limits: Limits) -> str:
        """Reads new and changed files for at most `SECONDS`, removes missing ones, and returns a message that names
        them, those that still wait, and those that may be on a disk that is not mounted; empty if nothing changed."""
        now = time.monotonic()
        if now - self._compared.get(library.name, -_AGAIN) < _AGAIN:
            return ""
        files: dict[str, list[str]] = {}
        roots = set(map(str, library.roots()))
        for one in sync(library, limits=limits, seconds=SECONDS):
            is_gone = one.state == "failed" and one.path in roots and not os.path.exists(one.path)
            state = "gone" if is_gone else one.state
            files.setdefault(state, []).append(PurePath(one.path).name)
        self._compared[library.name] = time.monotonic()
        told, left = ([f"{words}: {_names(files[one])}" for one, words in of.items() if one in files]
                      for of in (_DONE, _LEFT))  # fmt: skip
        rest = f"; wim-edge library sync {library.name}" if left else ""
        return f"library {library.name}: {'; '.join([*told, *left])}{rest}" if told or left else ""


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
