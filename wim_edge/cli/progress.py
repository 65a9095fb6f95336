"""The progress of a run of many questions, on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import click

if TYPE_CHECKING:
    from wim_edge.batch.result import Result
    from wim_edge.evaluation.records import Record

_LINE_SECONDS = 30.0
"""The time after which a line is due; one is also due at every tenth of the way."""


class Tally(Protocol):
    """A count that is told beside the number of questions."""

    def count(self, row: Any) -> None: ...

    def text(self) -> str: ...


class Scores:
    """The running main score of each pattern."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self._scores: dict[str, list[float]] = {}

    def count(self, row: Record) -> None:
        if self.metric in row.scores:
            self._scores.setdefault(row.pattern, []).append(row.scores[self.metric])

    def text(self) -> str:
        means = (f"{name} {100 * sum(found) / len(found):.1f}%" for name, found in self._scores.items())
        return f"{self.metric} {', '.join(means)}"


class Failures:
    """The number of failures, and of the workers that asked."""

    def __init__(self) -> None:
        self._failed = 0
        self._workers: set[str] = set()

    def count(self, row: Result) -> None:
        self._failed += row.error is not None
        self._workers.add(row.worker)

    def text(self) -> str:
        places = f", {len(self._workers)} workers" if len(self._workers) > 1 else ""
        return f"{self._failed} failed{places}"


def progress(tally: Tally) -> Lines:
    """Returns the watcher that fits standard error: a bar on a terminal, lines elsewhere."""
    return Bar(tally) if sys.stderr is not None and sys.stderr.isatty() else Lines(tally)


class Lines:
    """A watcher that writes a line now and then, where there is no terminal."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.done = self.total = 0

    def begin(self, kept: Sequence[Any], total: int) -> None:
        """Begins with the rows that are there before the first question, and how many there will be."""
        self.total = total
        self._kept = len(kept)
        for row in kept:
            self._count(row)
        if kept:
            click.echo(f"{len(kept)} of {total} asked before", err=True)
        self._began = self._last = time.monotonic()

    def add(self, row: Any) -> None:
        """Counts a question that was asked, or failed."""
        self._count(row)
        now = time.monotonic()
        tenth = self.done * 10 // self.total > (self.done - 1) * 10 // self.total
        if tenth or now - self._last > _LINE_SECONDS:
            self._last = now
            left = (now - self._began) / (self.done - self._kept) * (self.total - self.done)
            click.echo(f"{self.done} of {self.total} asked, {left:.0f} s left; {self.tally.text()}", err=True)

    def _count(self, row: Any) -> None:
        self.done += 1
        self.tally.count(row)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class Bar(Lines):
    """A watcher that draws a bar on the terminal."""

    def begin(self, kept: Sequence[Any], total: int) -> None:
        super().begin(kept, total)
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task(self.tally.text(), total=total, completed=self.done)
        self._bar.start()

    def add(self, row: Any) -> None:
        self._count(row)
        self._bar.update(self._task, completed=self.done, description=self.tally.text())

    def __exit__(self, *exc: object) -> None:
        if hasattr(self, "_bar"):
            self._bar.stop()
