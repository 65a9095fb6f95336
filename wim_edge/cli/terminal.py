"""Text that is safe to write to a terminal: no document, model or name of a file may steer it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wim_edge.errors import WimEdgeError


def clean(text: str) -> str:
    """Returns the text without control characters but for line breaks and tabs."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def one_line(text: str) -> str:
    """Returns the text with blanks in place of line breaks and control characters."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def show_error(error: WimEdgeError) -> None:
    """Writes what happened and what to do about it, a line each."""
    click.echo(f"error: {one_line(str(error))}", err=True)
    if error.hint:
        click.echo(f"hint: {one_line(error.hint)}", err=True)
