"""The tables of an HTML page: tables of data, and layout tables, whose cells only position text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from wim_edge.documents.rows import Span, grid, table_text

MARK = r"(?:[-*•‣◦–]|\(?\w{1,3}[.)])"
"""The bullet or number of a list item."""
_ONLY_MARK = re.compile(rf"(?!\d+\.\d){MARK}|\(\w{{1,4}}\)")


class Block(NamedTuple):
    """A paragraph or heading, and how many `<blockquote>` elements it is nested in."""

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
    """A table that is being read. ``is_layout``: True if the markup shows that it only positions text."""

    is_layout: bool
    rows: list[list[Cell]] = field(default_factory=list)
    is_in_cell: bool = False

    def blocks(self, quoted: int) -> Iterator[Block]:
        """Yields the table's titles and rows as paragraphs, or, for a layout table, the blocks of its cells."""
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
    """Returns whether a table only positions text. It does if it has one cell, or if a cell contains a heading. Without
    `<th>`, it also does if at least half of the rows have a cell with several paragraphs."""
    cells = [cell for row in rows for cell in row]
    if len(cells) < 2 or any(block.is_heading for cell in cells for block in cell.blocks):
        return True
    n_long = sum(any(len(cell.blocks) > 1 for cell in row) for row in rows)
    return 2 * n_long >= len(rows) and not any(cell.tag == "th" for cell in cells)
