"""The tables of an HTML page: tables of data, and layout tables, whose cells only position text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from wim_edge.documents.rows import Span, grid, table_text

MARK = r"(?:[-*•‣◦–]|\(?(?:\d{1,3}|[^\W\d_]|[ivxlIVXL]{2,5})[.)])"
"""The pattern of a list item's bullet or number."""
_SHORT = 150  # most characters of a cell with paragraphs or a table that become part of a row
_ONLY_MARK = re.compile(rf"(?!\d+\.\d){MARK}|\(\w{{1,4}}\)")


class Block(NamedTuple):
    """A paragraph, a heading, or rows of a table (``is_rows``). ``quoted``: the number of `<blockquote>`s around it."""

    text: str
    is_heading: bool
    quoted: int
    is_rows: bool = False


@dataclass
class Cell:
    tag: str
    span: Span
    blocks: list[Block] = field(default_factory=list)
    alts: list[str] = field(default_factory=list)  # the words for its pictures, which stand for a cell without text

    @property
    def text(self) -> str:
        rows = (one.text.removeprefix("| ").replace("\n", "; ").replace(" | ", " ") for one in self.blocks)
        texts = (row if one.is_rows else one.text for row, one in zip(rows, self.blocks, strict=True))
        return " ".join(" ".join(texts).split()) or " ".join(" ".join(self.alts).split())


@dataclass
class HtmlTable:
    """An HTML table that is being read. ``is_layout``: True once it is known that the table only positions text."""

    is_layout: bool
    rows: list[list[Cell]] = field(default_factory=list)
    is_in_cell: bool = False

    def blocks(self, quoted: int) -> Iterator[Block]:
        """Yields a data table's titles and rows as blocks, or the blocks in a layout table. ``quoted``: see `Block`."""
        rows = [row for row in self.rows if any(cell.blocks for cell in row)]
        marked = [len(row) == 2 and _ONLY_MARK.fullmatch(row[0].text) is not None for row in rows]
        if self.is_layout or _is_layout(rows) or all(marked):
            for row, is_marked in zip(rows, marked, strict=True):
                first, *more = [block for cell in row for block in cell.blocks]
                if is_marked and more:
                    first = Block(f"{first.text} {more.pop(0).text}", False, first.quoted)
                yield from (first, *more)
            return
        table = grid([[cell.text for cell in row] for row in rows], [[cell.span for cell in row] for row in rows])
        has_heads = any(cell.tag == "th" for row in rows for cell in row)
        heads = takewhile(lambda row: {cell.tag for cell in row if cell.blocks} == {"th"}, rows)
        paragraphs = table_text(table, len([*heads]) if has_heads else None)
        yield from (Block(text, False, quoted, True) for text in paragraphs)


def _is_layout(rows: list[list[Cell]]) -> bool:
    """Returns whether a table only positions text: it has one cell, a heading or an inner table, or in half its rows a
    cell of several paragraphs. In the last two cases, `<th>` or short cells may show that it holds data."""
    cells = [cell for row in rows for cell in row]
    blocks = [block for cell in cells for block in cell.blocks]
    if len(cells) < 2 or any(block.is_heading for block in blocks):
        return True
    is_headed = any(cell.tag == "th" for cell in cells)
    is_short = all(sum(len(block.text) for block in cell.blocks) <= _SHORT for cell in cells)
    if any(block.is_rows for block in blocks):
        return not (is_headed and is_short)
    n_long = sum(any(len(cell.blocks) > 1 for cell in row) for row in rows)
    is_grid = is_short and len(rows) > 1 and {*map(len, rows)} == {max(len(rows[0]), 2)}
    return 2 * n_long >= len(rows) and not is_headed and not is_grid
