"""The rows of a table as a grid: cells over several rows or columns; and tables that only place text on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wim_edge.documents.rows import table_text

MARK = r"(?:[-*•‣◦–]|\(?\w{1,3}[.)])"
"""The marks of a list's items."""
_ONLY_MARK = re.compile(rf"(?!\d+\.\d){MARK}|\(\w{{1,4}}\)")
Span = tuple[int, int]
"""The rows and the columns over which a cell goes."""
_MOST = 1000  # the rows or columns over which a cell goes, at most: what is more is a mistake or a trap
_REPEATED, _CELLS, _GROWTH = 200, 200_000, 4
"""The most characters of a cell that is repeated in the rows that it goes over, the most cells of a grid, and the times
that its text may be longer than the table's."""


def span_of(rows: str, columns: str) -> Span:
    """Returns the span that a cell's attributes state; 0 rows are all that follow."""
    down, across = (int(one) if one.isdecimal() and len(one) < 5 else 1 for one in (rows, columns))
    return min(down or _MOST, _MOST), min(max(across, 1), _MOST)


def grid(rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]]) -> list[list[str]]:
    """Returns the rows with a cell's text in each row that it goes over. A cell over all columns stays one cell: it is
    the title of some rows."""
    n_columns = max(sum(across for _, across in row) for row in spans)
    is_plain = len(set(map(len, rows))) == 1 and all(down == 1 for row in spans for down, _ in row)
    if is_plain or n_columns > _MOST or n_columns * len(rows) > _CELLS:
        return [list(row) for row in rows]
    made: list[list[str]] = []
    goes_on: dict[int, tuple[str, int]] = {}  # by column, what goes on from the rows above, and over how many rows
    for cells, over in zip(rows, spans, strict=True):
        begun: dict[int, tuple[str, int]] = {}
        row: list[str] = []
        for text, (down, across) in zip(cells, over, strict=True):
            if across >= n_columns > 1:
                row = [text]
                break
            while len(row) in goes_on:
                row.append(goes_on[len(row)][0])
            for at in range(across):
                if down > 1:
                    begun[len(row)] = text if at == 0 and len(text) <= _REPEATED else "", down
                row.append(text if at == 0 else "")
        else:
            for column in range(len(row), max(goes_on, default=-1) + 1):
                row.append(goes_on[column][0] if column in goes_on else "")
        left = {column: (text, n - 1) for column, (text, n) in (goes_on | begun).items()}
        goes_on = {column: (text, n) for column, (text, n) in left.items() if n}
        made.append(row)
    size = sum(len(cell) + 1 for row in rows for cell in row)
    is_long = sum(len(cell) + 1 for row in made for cell in row) > _GROWTH * size + _MOST
    return [list(row) for row in rows] if is_long else made


class Block(NamedTuple):
    """A paragraph or a heading, and in how many quotations it stands."""

    text: str
    is_heading: bool
    quoted: int


@dataclass
class Cell:
    tag: str
    span: Span
    blocks: list[Block] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(block.text for block in self.blocks).split())


@dataclass
class LayoutTable:
    """A table of a page that is open. ``is_layout``: it is known to place text on the page, and holds no rows."""

    is_layout: bool
    rows: list[list[Cell]] = field(default_factory=list)
    is_in_cell: bool = False

    def blocks(self, quoted: int) -> Iterator[Block]:
        """Yields the table as one block, or as those of its cells."""
        rows = [row for row in self.rows if any(cell.blocks for cell in row)]
        marked = [len(row) == 2 and _ONLY_MARK.fullmatch(row[0].text) is not None for row in rows]
        if self.is_layout or _is_layout(rows) or all(marked):
            for row, is_marked in zip(rows, marked, strict=True):
                first, *more = [block for cell in row for block in cell.blocks]
                if is_marked and more:
                    first = Block(f"{first.text} {more.pop(0).text}", False, first.quoted)
                yield from (first, *more)
            return
        texts = [[cell.text for cell in row] for row in rows]
        table = grid(texts, [[cell.span for cell in row] for row in rows])
        is_headed = None
        if any(cell.tag == "th" for row in rows for cell in row):
            is_headed = {cell.tag for cell in rows[0] if cell.blocks} == {"th"}
        yield from (Block(text, False, quoted) for text in table_text(table, is_headed))


def _is_layout(rows: list[list[Cell]]) -> bool:
    """Tells whether rows only place text on the page: one cell, headings, or several paragraphs in most rows' cells."""
    cells = [cell for row in rows for cell in row]
    if len(cells) < 2 or any(block.is_heading for cell in cells for block in cell.blocks):
        return True
    n_long = sum(any(len(cell.blocks) > 1 for cell in row) for row in rows)
    return 2 * n_long >= len(rows) and not any(cell.tag == "th" for cell in cells)
