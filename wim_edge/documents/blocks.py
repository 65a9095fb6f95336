"""The blocks of a document: headings, paragraphs, items of lists, rows of tables with their header, and code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from wim_edge.documents.document import Document
from wim_edge.documents.tables import RULE, Table, line_spans, tables

Kind = Literal["heading", "paragraph", "item", "row", "code"]

_ITEM = re.compile(r"\s*(?:[-*•‣◦▪]|\(?(?:\d{1,3}|[a-z]|[ivxl]{1,5})[.)]|\d{1,3}(?:\.\d{1,3})+\.?)\s")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_PIPE = " | "
_HASHES = re.compile(r"#{1,6}\s")


@dataclass(frozen=True)
class Block:
    """Characters ``[start, end)`` of a document's text, without blanks around them, and what they are."""

    kind: Kind
    start: int
    end: int
    header: tuple[int, int] | None = None
    """The characters of the row that names the columns, of a row that has one above it; that row has itself."""


def blocks(document: Document) -> tuple[Block, ...]:
    """Returns the blocks of a document in their order; what is between two is blank, or a rule of a table."""
    return tuple(_blocks(document))


def _blocks(document: Document) -> Iterator[Block]:
    text = document.text
    every = tables(text)
    headings = {mark.start for mark in document.marks if mark.section}
    paragraph: list[int] = []
    fence = -1
    before = ""
    for start, end in (*line_spans(text), (len(text), len(text))):
        line = text[start:end]
        has_neighbour = _PIPE in before or _PIPE in text[end : text.find("\n", end) + 1 or len(text)]
        before = line
        is_fence = _FENCE.match(line) is not None
        if fence >= 0:
            if is_fence or start == len(text):
                yield Block("code", fence, start + len(line.rstrip()))
                fence = -1
            continue
        table = _table_of(every, start)
        is_row = table is not None or (_PIPE in line and has_neighbour)
        kind = "row" if is_row else "paragraph"
        if not is_row and ((start in headings and _is_short(text, start, end)) or _HASHES.match(line)):
            kind = "heading"
        elif not is_row and _ITEM.match(line):
            kind = "item"
        ends = not line.strip() or is_fence or kind in ("heading", "row", "item")
        if paragraph and ends:
            yield _stripped(text, "item" if paragraph[1] else "paragraph", paragraph[0], start)
            paragraph = []
        if is_fence:
            fence = start
        elif kind == "heading" or (is_row and not RULE.fullmatch(line)):
            yield _stripped(text, kind, start, end, table.header if table else None)
        elif line.strip() and not is_row and not paragraph:
            paragraph = [start, kind == "item"]


def _table_of(every: tuple[Table, ...], at: int) -> Table | None:
    number = bisect_right([table.header[0] for table in every], at) - 1
    table = every[number] if number >= 0 else None
    return table if table is not None and at < table.end else None


def _is_short(text: str, start: int, end: int) -> bool:
    """Tells whether a line is a paragraph of its own, as the heading of a section is; a page may begin with another."""
    return end - start < 200 and not text[end : end + 1].strip()


def _stripped(text: str, kind: str, start: int, end: int, header: tuple[int, int] | None = None) -> Block:
    said = text[start:end]
    begin = start + len(said) - len(said.lstrip())
    return Block(kind, begin, start + len(said.rstrip()), header)  # type: ignore[arg-type]
