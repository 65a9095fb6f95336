"""The progress of long operations on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import click

if TYPE_CHECKING:
    from wim_edge.batch.result import Result
    from wim_edge.evaluation.records import Record

_LINE_SECONDS = 30.0
"""The time after which a line is due; one is also due at every tenth of the way."""


class Progress:
    """Shows ``before``, how much is done of how much, and ``after``; a context manager that ends the bar."""

    def __init__(self, before: str = "", after: str = "", size: Callable[[int], str] = str) -> None:
        self._before, self._after, self._size = before, after, size
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self.begin(0)

    def begin(self, done: int) -> None:
        """Starts the clock; so much was done before."""
        self._done = self._first = done
        self._began = self._last = time.monotonic()

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        line = f"{self._before}{self._size(done)}{f' of {self._size(total)}' if total else ''}{self._after}"
        before, self._done = self._done, done
        if self._on_terminal:
            self._draw(f"{line}; {note}" if note else line, done, total)
            return
        now = time.monotonic()
        if total and done > before and (done * 10 // total > before * 10 // total or now - self._last > _LINE_SECONDS):
            self._last = now
            left = (now - self._began) / (done - self._first) * (total - done)
            click.echo(f"{line}, {left:.0f} s left{f'; {note}' if note else ''}", err=True)

    def _draw(self, line: str, done: int, total: int | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
            self._bar = Bars(*columns, console=Console(stderr=True))
            self._bar.add_task(line, total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=line)
        if total and done >= total:
            self._bar.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()


class Tally(Protocol):
    """A count that is shown beside the number of questions."""

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


class RunProgress:
    """Shows a run of many questions: a `wim_edge.system.journal.Watcher` and a context manager."""

    def __init__(self, tally: Tally) -> None:
        self.tally, self._progress = tally, Progress(after=" asked")
        self._done = self._total = 0

    def begin(self, kept: Sequence[Any], total: int) -> None:
        """Begins with the rows that exist before the first question, and the number of all."""
        for row in kept:
            self.tally.count(row)
        self._done, self._total = len(kept), total
        if kept:
            click.echo(f"{len(kept)} of {total} asked before", err=True)
        self._progress.begin(len(kept))
        self._progress(self._done, total, self.tally.text())  # draws the bar

    def add(self, row: Any) -> None:
        """Counts a question that was asked, or failed."""
        self.tally.count(row)
        self._done += 1
        self._progress(self._done, self._total, self.tally.text())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._progress.__exit__()
