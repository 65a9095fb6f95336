"""`wim-edge read` and `readings`: read documents ahead; list and remove saved readings."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.interrupt import EXIT_CANCELLED, Interruptible
from wim_edge.cli.options import (
    events_option,
    json_option,
    open_runtime,
    question_options,
    rpc_option,
    settings_from,
    yes_option,
)
from wim_edge.cli.terminal import confirm, one_line, print_json, print_table
from wim_edge.errors import LibraryError
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from wim_edge.library import ReadingStore

_WIDE = 100
"""The minimum width of a terminal, in columns, for which `list` also shows model and shape; --json always does."""


@click.command(short_help="Read documents ahead, without a question.")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...", type=click.Path())
@click.option("--together", is_flag=True, help="Read all as the context of one question, not each alone.")
@question_options
@rpc_option
@events_option
def read(documents: tuple[str, ...], together: bool, as_json: bool, **options: Any) -> None:
    """Read each DOCUMENT in advance, for example overnight, and save the reading. `ask` then need not read it.

    A saved reading serves questions with the same model, segment size and way of reading (--pattern). Ctrl-C saves what
    was read and stops; the same command continues from there.

    \b
      wim-edge read thesis.pdf
      wim-edge ask thesis.pdf "Which data were used?"
    """
    settings = settings_from(options)
    from wim_edge.cli.display import display_for

    with open_runtime(settings) as runtime:
        for group in [documents] if together else [(document,) for document in documents]:
            reading = Interruptible(runtime, partial(runtime.read, group), "stopping; what was read is saved")
            reading.show(display_for(as_json=as_json, stop="stops; what was read is saved"))
            if reading.presses:
                sys.exit(EXIT_CANCELLED)


@click.group()
def readings() -> None:
    """List and remove saved readings.

    The reading of a text is saved for later questions, once for each model and way of reading: deep (all of it in one
    sequence) or shallow (each segment alone). All readings take at most WIM_EDGE_READINGS_BYTES (by default a tenth of
    the disk's free space, at most 20 GB). Above this limit, the least recently used ones are deleted.
    """


@readings.command("list")
@json_option
def list_readings(as_json: bool) -> None:
    """List the saved readings, the most recently used one first."""
    with _opened() as opened:
        found = opened.index.readings()
        rows = [{**asdict(one), "created": _when(one.created), "used": _when(one.used)} for one in found]
        total, limit = opened.index.total(), opened.limit
    if as_json:
        print_json(rows)
        return
    if rows:
        is_wide = shutil.get_terminal_size().columns >= _WIDE
        cells = []
        for row in rows:
            part = "" if row["tokens"] >= row["of_tokens"] else f" of {row['of_tokens']:,}"
            how = (row["model"], row["shape"]) if is_wide else ()
            cells.append((str(row["id"]), one_line(row["title"]), *how, f"{row['tokens']:,}{part}",
                          megabytes(row["bytes"]), row["used"]))  # fmt: skip
        head = ("Id", "Documents", *(("Model", "Read") if is_wide else ()), "Tokens", "Size", "Last used")
        print_table(head, cells, ("Id", "Tokens", "Size"), folds="Documents")
    click.echo(f"{len(rows)} readings, {megabytes(total)} of at most {megabytes(limit)}")


@readings.command()
@click.argument("numbers", type=int, nargs=-1, required=True, metavar="ID...")
def remove(numbers: tuple[int, ...]) -> None:
    """Remove the readings with these IDs. The next question on a text reads the text again."""
    with _opened() as opened, _freed(opened):
        if absent := {*numbers} - {one.id for one in opened.index.readings()}:
            raise LibraryError(f"there is no reading {min(absent)}", "wim-edge readings list")
        opened.remove(*numbers)


@readings.command()
@yes_option
def clear(yes: bool) -> None:
    """Remove all readings, and the saved text of scanned pages."""
    from wim_edge.documents import scans

    with _opened() as opened, _freed(opened):
        confirm(f"Remove {len(opened.index.readings())} readings ({megabytes(opened.index.total())})?", yes)
        opened.clear()
        scans.forget()


@contextmanager
def _opened() -> Iterator[ReadingStore]:
    from wim_edge.library import FAILURES, ReadingStore, is_corrupt

    opened = ReadingStore.of(Settings.from_environment())
    for note in opened.notes:
        click.echo(f"warning: {note}", err=True)
    try:
        yield opened
    except FAILURES as error:
        if is_corrupt(error):
            opened.recreate_index(error)
            hint = "Texts are read again with the next questions."
            raise LibraryError(f"{opened.folder}: {opened.notes[-1]}", hint) from error
        raise LibraryError(f"{opened.folder}: {error}", "Check the disk, or try again.") from error


@contextmanager
def _freed(opened: ReadingStore) -> Iterator[None]:
    """Prints how much disk space the `with` block freed."""
    before = opened.index.total()
    yield
    click.echo(f"{megabytes(max(0, before - opened.index.total()))} freed")


def _when(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError, TypeError):  # the index was edited
        return "?"
