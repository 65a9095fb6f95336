"""Output that is safe on a terminal: no document, model or file name can control it."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import click

from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.errors import WimEdgeError


def clean(text: str) -> str:
    """Returns the text without control characters except line breaks and tabs."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def one_line(text: str) -> str:
    """Returns the text with blanks in place of line breaks and control characters."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def counted(n: int, what: str) -> str:
    """Returns a number with its noun: "1 file", "2 files"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def show_error(error: WimEdgeError) -> None:
    """Prints what happened and what to do about it, a line each."""
    click.echo(f"error: {one_line(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {one_line(error.hint)}", err=True)


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Container[str], *, folds: str = "",
    title: str | None = None,
) -> None:  # fmt: skip
    """Prints rows under a head, with numbers aligned right. The column ``folds`` wraps on a narrow terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=title)
    if not console.is_terminal:
        console.width = 1000  # a pipe cuts no line
    for number, name in enumerate(head):
        least = 12 if name == folds else max(len(row[0]) for row in rows) if number == 0 and rows else None
        table.add_column(name, justify="right" if name in numeric else "left", no_wrap=name != folds, overflow="fold",
                         min_width=least)  # fmt: skip
    for row in rows:
        table.add_row(*row)
    console.print(table, markup=False)


def confirm(question: str, yes: bool) -> None:
    """Asks unless ``yes`` is given. Raises click.Abort for no, InvalidRequestError if standard input is closed."""
    if not yes and sys.stdin is None:
        raise InvalidRequestError("standard input is closed, so there is nobody to ask", "Give --yes.")
    if not yes:
        click.confirm(question, abort=True)
