"""The units of a text: sentences, items of lists, and rows of tables with the labels of their columns; and its values,
which are whole or another one: codes, addresses, accounts, telephone numbers, numbers, dates.

A unit is what a quotation shows whole, and what an answer stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wim_edge.documents.document import Document
from wim_edge.documents.segments import MONTH, sentences
from wim_edge.documents.tables import ROW, RULE, cells_of, line_spans, table_at, tables

ITEM = re.compile(r"(?:[-*•–]|\d{1,3}[.)]|\(\w\)|[a-z]\))\s")
"""The mark at the beginning of a list's item."""
_MOST_CELLS, _TITLE = 25_000, 80
_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s)>\]]+\w"  # addresses
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"  # IBANs
    r"|(?:\+|\(?\b0)\d[\d ()/-]{5,}\d|\b\d{3}-\d{3,4}(?:-\d{4})?\b"  # telephone numbers
    r"|\b\w*[\dA-Z]\w*(?:[-/]\w+)+\b"  # codes
    r"|\b[^\W_]+(?:_+[^\W_]+)+\b"  # names of programs' parts
    r"|[£€$¥]?\d+(?:[.,]\d+)+(?:\s?[%€£])?|\d{1,3}(?: \d{3})+|[£€$¥]\d+"  # numbers and amounts
)
_DATE = re.compile(
    rf"(?<![.,\d])\b(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?\.? (?:de |of )?{MONTH}(?:\.?,? (?:de )?\d{{4}}\b)?"
    rf"|\b{MONTH} \d{{1,2}}\b(?:,? \d{{4}}\b)?",
)
_NEAR = 200  # the characters before and after some others in which the value that they are a part of is looked for


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells as characters of the document, their texts, the labels of their columns (empty where
    unknown), and the title of the rows among which it stands."""

    cells: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    group: str = ""

    @property
    def text(self) -> str:
        """The row as a model reads it: each cell after its label, below the title of its group."""
        pairs = zip(self.labels, self.texts, strict=True)
        cells = (f"{label}: {text}" if label else text for label, text in pairs if text)
        return "\n".join(part for part in (self.group, "; ".join(cells)) if part)


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Returns the sentences, items and rows of a text, which together are the text, each as its characters."""
    return [unit for sentence in sentences(text) for unit in _rows_apart(text, *sentence)]


def _rows_apart(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields a sentence, or the rows of a table, which no full stop divides."""
    lines = [(start + left, start + right) for left, right in line_spans(text[start:end])]
    if sum(bool(ROW.search(text[left:right].strip())) for left, right in lines) < 2:
        yield start, end
        return
    yield from lines


@lru_cache(maxsize=8)
def rows(document: Document) -> tuple[Row, ...]:
    """Returns the rows of a document's tables, without their headers, as far as they have 25,000 cells."""
    found, n_cells = [], 0
    for row in _each_row(document.text):
        n_cells += len(row.cells)
        if n_cells > _MOST_CELLS:
            break
        found.append(row)
    return tuple(found)


def _each_row(text: str) -> Iterator[Row]:
    heads = {table.header[0] for table in tables(text)}
    group, labels = "", list[str]()
    for start, end in line_spans(text):
        line = text[start:end]
        table, cells = table_at(text, start), cells_of(line, start)
        filled = [text[left:right] for left, right in cells if right > left] or [line.strip()]
        if start in heads or not line.strip():
            group = ""
        elif len(filled) == 1 and len(filled[0]) <= _TITLE:
            group = filled[0]
        if start in heads or len(filled) < 2 or RULE.fullmatch(line.strip()):
            continue
        if table is None and _is_alone(text, start, end):
            continue
        if table is not None:  # else those of the last table, if this is more of it: blank rows part its groups
            header = cells_of(text[slice(*table.header)], table.header[0])
            labels = [text[slice(*one)].replace("_", " ") for one in header]
        texts = tuple(text[left:right] for left, right in cells)
        yield Row(tuple(cells), texts, tuple(labels) if len(labels) == len(cells) else ("",) * len(cells), group)


def _is_alone(text: str, start: int, end: int) -> bool:
    """Tells whether a line has cells that neither the one above nor the one below has: it may be a letterhead's."""
    above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    below = text[end + 1 : (text.find("\n", end + 1) + 1 or len(text) + 1) - 1]
    return "|" not in above and "|" not in below


def siblings(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Returns the items of the list that these characters stand in, or that begins below their line if it ends with
    them ("You need:"); none if they do neither. An item has the indented lines below it."""
    lines = _item_lines(text)
    at = next((n for n, (left, right) in enumerate(lines) if left <= start < right), -1)
    if at < 0:
        return []
    if not _is_item(text, lines[at]) and not text[end : lines[at][1]].strip(" \t\n:"):
        at += 1
    if at >= len(lines) or not _is_item(text, lines[at]):
        return []
    first = last = at
    while first and _is_item(text, lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _is_item(text, lines[last + 1]):
        last += 1
    return [inked(text, *line) for line in lines[first : last + 1]] if last > first else []


def _item_lines(text: str) -> list[tuple[int, int]]:
    """Returns the lines that are not blank; an item includes the indented lines below it, which go on with it."""
    found: list[tuple[int, int]] = []
    is_open = False
    for start, end in line_spans(text):
        line = text[start:end]
        if not line.strip():
            is_open = False
        elif is_open and line[0] in " \t" and not ITEM.match(line.strip()):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
            is_open = ITEM.match(line.strip()) is not None
    return found


def _is_item(text: str, line: tuple[int, int]) -> bool:
    return ITEM.match(text[slice(*line)].strip()) is not None


def inked(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the characters ``[start, end)`` without blanks around them."""
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), max(start, end - len(said) + len(said.rstrip()))


def column(found: Sequence[Row], start: int) -> list[tuple[int, int]]:
    """Returns the cells of the column that a cell, which begins at a character, stands in, in its table's rows."""
    at = next(((row, c) for row in found for c, cell in enumerate(row.cells) if cell[0] == start), None)
    same = [row for row in found if at and row.labels == at[0].labels and len(row.cells) == len(at[0].cells)]
    return [row.cells[at[1]] for row in same if at and row.texts[at[1]]]


def whole_value(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the characters ``[start, end)`` of the text, widened to the whole of a code, address, number, account or
    date within which they begin or end: half of one is another one. A year alone stays a year."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    near = max(line, start - _NEAR), min(len(text) if stop < 0 else stop, end + _NEAR)
    kinds = (_VALUE,) if text[start:end].isdecimal() else (_VALUE, _DATE)
    for match in (match for kind in kinds for match in kind.finditer(text, *near)):
        if match.start() < end and start < match.end():
            start, end = min(start, match.start()), max(end, match.end())
    return start, end
