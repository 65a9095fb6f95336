"""`wim-edge readings`: the saved readings, listed and removed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.terminal import one_line
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from wim_edge.library import ReadingRecord, ReadingStore

_WIDE = 100
"""The columns of a terminal that has room for a reading's model and its way of reading, which `info` tells as well."""
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def readings() -> None:
    """List and remove saved readings.

    A text that was read is kept for the next question, for each model and way of reading: deep (all of it in one
    sequence) or shallow (each segment alone). The readings used longest ago give way when they take more than
    WIM_EDGE_READINGS_BYTES (by default a tenth of the disk's free space, at most 20 GB).
    """


@readings.command("list")
@_as_json
def list_readings(as_json: bool) -> None:
    """List the saved readings, the one used last first."""
    with _opened() as opened:
        rows = [_facts(one) for one in opened.readings()]
        total, limit = opened.index.total(), opened.limit
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if rows:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        console, table = Console(highlight=False), Table(box=box.SIMPLE_HEAD, pad_edge=False)
        wide = ("Model", "Read") if console.width >= _WIDE else ()
        for heading in ("Id", "Documents", *wide, "Tokens", "Size", "Last used"):
            numeric, title = heading in ("Id", "Tokens", "Size"), heading == "Documents"
            table.add_column(heading, no_wrap=not title, overflow="fold", min_width=12 if title else None,
                             justify="right" if numeric else "left")  # fmt: skip
        for row in rows:
            part = "" if row["tokens"] >= row["of_tokens"] else f" of {row['of_tokens']:,}"
            how = (row["model"], row["shape"]) if wide else ()
            table.add_row(str(row["id"]), one_line(row["title"]), *how, f"{row['tokens']:,}{part}",
                          megabytes(row["bytes"]), row["used"])  # fmt: skip
        console.print(table, markup=False)
    click.echo(f"{len(rows)} readings, {megabytes(total)} of at most {megabytes(limit)}")


@readings.command()
@click.argument("reading", type=int, metavar="ID")
@_as_json
def info(reading: int, as_json: bool) -> None:
    """Show all that is known of a reading."""
    with _opened() as opened:
        facts = _facts(_named(opened, reading))
    if as_json:
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    for name, value in facts.items():
        click.echo(f"{name:<12} {f'{value:,}' if isinstance(value, int) else one_line(str(value))}")


@readings.command()
@click.argument("numbers", type=int, nargs=-1, required=True, metavar="ID...")
def remove(numbers: tuple[int, ...]) -> None:
    """Remove readings; their texts are read again when they are asked about."""
    with _opened() as opened:
        for reading in numbers:
            _named(opened, reading)
        before = opened.index.total()
        for reading in numbers:
            opened.remove(reading)
        click.echo(f"{megabytes(max(0, before - opened.index.total()))} freed")


@readings.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Remove all readings, and the text that was recognised on scans."""
    from wim_edge.documents import scans

    with _opened() as opened:
        many, before = len(opened.readings()), opened.index.total()
        if not yes and sys.stdin is None:
            raise InvalidRequestError("nobody can be asked: standard input is closed", "Give --yes.")
        if not yes:
            click.confirm(f"Remove {many} readings ({megabytes(before)})?", abort=True)
        opened.clear()
        scans.forget()
        click.echo(f"{megabytes(max(0, before - opened.index.total()))} freed")


@readings.command()
def path() -> None:
    """Print where the readings are kept, and nothing else."""
    with _opened() as opened:
        click.echo(opened.folder)


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
            hint = "Texts are read again as questions come."
            raise LibraryError(f"{opened.folder}: {opened.notes[-1]}", hint) from error
        raise LibraryError(f"{opened.folder}: {error}", "Check the disk, or try again.") from error


def _named(opened: ReadingStore, reading: int) -> ReadingRecord:
    found = next((one for one in opened.readings() if one.id == reading), None)
    if found is None:
        raise LibraryError(f"there is no reading {reading}", "wim-edge readings list")
    return found


def _facts(one: ReadingRecord) -> dict[str, Any]:
    return {**asdict(one), "created": _when(one.created), "used": _when(one.used)}


def _when(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError, TypeError):  # the index was edited
        return "?"
