"""How an evaluation goes on, on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from wim_edge.evaluation.store import Record

_LINE_SECONDS = 30.0
"""A line so often, or every tenth of the way."""


def progress(metric: str) -> Lines:
    """What fits standard error: a bar on a terminal, lines elsewhere."""
    return Bar(metric) if sys.stderr is not None and sys.stderr.isatty() else Lines(metric)


class Lines:
    """A `wim_edge.evaluation.runner.Watcher` that writes a line now and then, where no terminal is."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.done = self.total = 0
        self._scores: dict[str, list[float]] = {}

    def begin(self, kept: Sequence[Record], total: int) -> None:
        self.total = total
        self._kept = len(kept)
        for record in kept:
            self._count(record)
        self._began = self._last = time.monotonic()

    def add(self, record: Record) -> None:
        self._count(record)
        now = time.monotonic()
        tenth = self.done * 10 // self.total > (self.done - 1) * 10 // self.total
        if tenth or now - self._last > _LINE_SECONDS:
            self._last = now
            left = (now - self._began) / (self.done - self._kept) * (self.total - self.done)
            click.echo(f"{self.done} of {self.total} asked, {left:.0f} s left; {self.scores()}", err=True)

    def scores(self) -> str:
        """The running main score of each pattern."""
        means = (f"{name} {100 * sum(found) / len(found):.1f}%" for name, found in self._scores.items())
        return f"{self.metric} {', '.join(means)}"

    def _count(self, record: Record) -> None:
        self.done += 1
        if self.metric in record.scores:
            self._scores.setdefault(record.pattern, []).append(record.scores[self.metric])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class Bar(Lines):
    """The same as a bar on the terminal."""

    def begin(self, kept: Sequence[Record], total: int) -> None:
        super().begin(kept, total)
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task(self.scores(), total=total, completed=self.done)
        self._bar.start()

    def add(self, record: Record) -> None:
        self._count(record)
        self._bar.update(self._task, completed=self.done, description=self.scores())

    def __exit__(self, *exc: object) -> None:
        if hasattr(self, "_bar"):
            self._bar.stop()
