"""Libraries that are asked are compared with their files first."""

from __future__ import annotations

import time
from collections import Counter

from wim_edge.library.ingest import sync
from wim_edge.library.library import Library
from wim_edge.settings import Limits

SECONDS = 5.0
"""The time that a question waits for files that are new or have changed."""
_AGAIN = 30.0
"""The seconds after which a library that was compared with its files is compared again."""


class InStep:
    """Knows when each library was compared with its files."""

    def __init__(self) -> None:
        self._compared: dict[str, float] = {}

    def bring(self, library: Library, limits: Limits) -> str:
        """Reads what is new or has changed, as far as that takes `SECONDS`, and returns what is to be said: empty, or
        that there is more, or that files are gone, whose texts stay until `wim-edge library sync`."""
        now = time.monotonic()
        if now - self._compared.get(library.name, -_AGAIN) < _AGAIN:
            return ""
        states = Counter(one.state for one in sync(library, prune=False, limits=limits, seconds=SECONDS))
        self._compared[library.name] = time.monotonic()
        told = []
        if waiting := states["waiting"]:
            files = "a file is new or has" if waiting == 1 else f"{waiting:,} files are new or have"
            told.append(f"{files} changed, and was not read yet")
        if gone := states["gone"]:
            told.append(
                "a file is gone or left out, and its text still answers" if gone == 1 else
                f"{gone:,} files are gone or left out, and their texts still answer"
            )  # fmt: skip
        return f"library {library.name}: {'; '.join(told)}; wim-edge library sync {library.name}" if told else ""
