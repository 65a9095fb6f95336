"""Measurements of a request: wall-clock seconds by stage, and the process's peak memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Timings:
    """Adds up wall-clock seconds by stage name. The stage ``total`` begins when this object is created."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + time.perf_counter() - started

    def each(self, name: str, items: Iterator[T]) -> Iterator[T]:
        """Yields ``items``. The time to get each item counts for the stage ``name``; the caller's time does not."""
        while True:
            with self.stage(name):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item

    def seconds(self) -> dict[str, float]:
        """Returns {stage: seconds}, to the millisecond. ``total``: the seconds since this object was created."""
        total = time.perf_counter() - self._started
        return {name: round(value, 3) for name, value in {**self.stages, "total": total}.items()}


def peak_rss_bytes() -> int:
    """Returns this process's peak resident memory, in bytes."""
    if sys.platform == "win32":
        import psutil

        peak = int(psutil.Process().memory_info().peak_wset)
    else:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak
