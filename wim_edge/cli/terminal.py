"""Output of commands: text without control characters, tables, confirmations, and progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import click

from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.errors import WimEdgeError

_LINE_SECONDS = 30.0
"""Without a terminal, a progress line is printed after this many seconds, and after every tenth of the work."""


def clean(text: str) -> str:
    """Returns the text without control characters except line breaks and tabs."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def one_line(text: str) -> str:
    """Returns the text on one line: spaces replace line breaks and control characters, and both ends are stripped."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def counted(n: int, what: str) -> str:
    """Returns a number with its noun: "1 file", "2 files"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def show_error(error: WimEdgeError) -> None:
    """Prints an error's message and its hint, a line each, on standard error."""
    click.echo(f"error: {one_line(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {one_line(error.hint)}", err=True)


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_lines(value: object, lines: Iterable[str], as_json: bool, none: str = "") -> None:
    """Prints ``value`` as JSON if ``as_json``, else ``lines``. ``none``: the text to print if there are no lines."""
    if as_json:
        print_json(value)
    else:
        click.echo("\n".join(lines) or none)


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Container[str], *, folds: str = "",
    title: str | None = None,
) -> None:  # fmt: skip
    """Prints a table. ``head``: the columns; ``numeric``: those to align right; ``folds``: the one that may wrap."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=title)
    if not console.is_terminal:
        console.width = 1000  # lines in a pipe are not cut
    for number, name in enumerate(head):
        least = 12 if name == folds else max(len(row[0]) for row in rows) if number == 0 and rows else None
        table.add_column(name, justify="right" if name in numeric else "left", no_wrap=name != folds, overflow="fold",
                         min_width=least)  # fmt: skip
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)


def confirm(question: str, yes: bool) -> None:
    """Asks the user to confirm, unless ``yes``. Raises click.Abort for a no, InvalidRequestError if stdin is closed."""
    if not yes and sys.stdin is None:
        raise InvalidRequestError("standard input is closed, so there is nobody to ask", "Give --yes.")
    if not yes:
        click.confirm(question, abort=True)


# Progress


class Progress:
    """Shows how much of some work is done, on standard error: as a bar on a terminal, else as lines.

    ``before``, ``after``: texts around the amount. ``size`` formats an amount. The end of a `with` block stops the bar.
    """

    def __init__(self, before: str = "", after: str = "", size: Callable[[int], str] = str) -> None:
        self._before, self._after, self._size = before, after, size
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self.start(0)

    def start(self, done: int) -> None:
        """Starts the clock. ``done``: the amount done earlier, which is not used to estimate the time left."""
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
            from rich.progress import BarColumn, Progress as Bars, TextColumn, TimeRemainingColumn

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
