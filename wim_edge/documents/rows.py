"""Rows of cells as text: a line a row, its cells parted by pipes, and one before the row that names the columns.

This is how tables of every format stand in a document's text, and what `wim_edge.wim.tables` looks cells up in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wim_edge.documents.document import DocumentBuilder

_NUMBER = re.compile(r"[^A-Za-z]{0,4}\d[\d.,:/\s%–-]*[^\W\d]{0,3}\s?[%€$£¥]?")
"""A number, with its unit or currency, or a date in figures."""


def add_rows(draft: DocumentBuilder, rows: Iterable[Sequence[str]]) -> None:
    """Appends the rows, of which blank ones part tables: a table is a paragraph, without its empty margins."""
    block: list[list[str]] = []
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            block.append(cells)
        elif block:
            _add(draft, block)
            block = []
    _add(draft, block)


def _add(draft: DocumentBuilder, block: list[list[str]]) -> None:
    if not block:
        return
    filled = {number for row in block for number, cell in enumerate(row) if cell}
    left, right = min(filled), max(filled) + 1
    table = [row[left:right] for row in block]
    while len(table) > 1 and sum(map(bool, table[0])) == 1 < sum(map(bool, table[1])):  # a title above the table
        draft.paragraph("".join(table.pop(0)))
    lines = [line_of(row) for row in table]
    if names_columns(table):
        lines[0] = f"| {lines[0]}"
    draft.paragraph("\n".join(lines))


def line_of(cells: Sequence[str]) -> str:
    """Returns a row as a line; a pipe that stands in a cell is escaped."""
    line = " | ".join(cell.replace("|", r"\|") for cell in cells)
    while "|  |" in line:
        line = line.replace("|  |", "| |")
    return line.strip()


def names_columns(table: Sequence[Sequence[str]]) -> bool:
    """Tells whether the first row names the columns: its cells are words, each another, and rows stand below it."""
    first = [cell.casefold() for cell in table[0]]
    return (
        len(table) > 1 and len(first) > 1 and all(first) and len(set(first)) == len(first)
        and not any(_NUMBER.fullmatch(cell) for cell in first)
    )  # fmt: skip
