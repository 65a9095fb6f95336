"""The units of a text, which quotations show whole: sentences, list items, and table rows with their columns' labels.
Also its values, which are never cut: codes, addresses, accounts, telephone numbers, numbers and dates."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from wim_edge.documents.document import Document
from wim_edge.documents.segments import MONTH, sentences
from wim_edge.documents.tables import ROW, RULE, Table, cells_of, line_spans, table_at, tables

ITEM = re.compile(r"(?:[-*•–]|\d{1,3}[.)]|\(\w\)|[a-z]\))\s")
"""The mark at the beginning of a list item."""
INTRODUCES = (":", "：")
"""The end of a line that introduces a list."""
_NUMBERED = re.compile(r"(?:§ ?)?(?:\d{1,2}(?:\.\d{1,2})*[.)]?|[IVX]{1,5}\.)\s+")
_CAPITALS = re.compile(r"(?:[^\W\d]\S* ?){1,8}")
_TITLE_WORDS = 8  # the most words of a line that is a title
_MOST_CELLS, _TITLE = 25_000, 80  # most cells of a document's rows; most characters of a title of rows
_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s)>\]]+\w"  # addresses
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"  # IBANs
    r"|(?:\+|\(?\b0)\d[\d ()/-]{5,}\d|\b\d{3}-\d{3,4}(?:-\d{4})?\b"  # telephone numbers
    r"|\b\w*[\dA-Z]\w*(?:[-/]\w+)+\b"  # codes
    r"|\b[^\W_]+(?:_+[^\W_]+)+\b"  # identifiers of programs
    r"|[£€$¥]?\d+(?:[.,]\d+)+(?:\s?[%€£])?|\d{1,3}(?: \d{3})+|[£€$¥]\d+"  # numbers and amounts
)
_DATE = re.compile(
    rf"(?<![.,\d])\b(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?\.? (?:de |of )?{MONTH}(?:\.?,? (?:de )?\d{{4}}\b)?"
    rf"|\b{MONTH} \d{{1,2}}\b(?:,? \d{{4}}\b)?",
)
_NEAR = 200  # characters on either side of a span that are searched for a value around it


@dataclass(frozen=True)
class Row:
    """A table row: its cells as character spans of the document, their texts, their columns' labels (empty if unknown),
    the title of the rows around it (``group``), and its table (None if the table has no header)."""

    cells: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    group: str = ""
    table: Table | None = None

    @property
    def start(self) -> int:
        return self.cells[0][0]

    @property
    def text(self) -> str:
        """The row as a model reads it: each cell after its label, below the title of its group."""
        pairs = zip(self.labels, self.texts, strict=True)
        cells = (f"{label}: {text}" if label else text for label, text in pairs if text)
        return "\n".join(part for part in (self.group, "; ".join(cells)) if part)


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Returns the character spans of a text's sentences, items and rows, without gaps."""
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        lines = list(line_spans(text, start, end))
        n_rows = sum(ROW.search(text[left:right].strip()) is not None for left, right in lines)
        spans += lines if n_rows > 1 else [(start, end)]  # rows have no full stops: each line is a unit
    return spans


@lru_cache(maxsize=8)
def rows(document: Document) -> tuple[Row, ...]:
    """Returns the rows of a document's tables without their headers, up to 25,000 cells in all."""
    found, n_cells = [], 0
    for row in _each_row(document.text):
        n_cells += len(row.cells)
        if n_cells > _MOST_CELLS:
            break
        found.append(row)
    return tuple(found)


def rows_within(document: Document, start: int, end: int) -> tuple[Row, ...]:
    """Returns the table rows that begin within the document's characters ``[start, end)``."""
    found = rows(document)
    first, last = (bisect_left(found, at, key=lambda row: row.start) for at in (start, end))
    return found[first:last]


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
        above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
        below = text[end + 1 : (text.find("\n", end + 1) + 1 or len(text) + 1) - 1]
        if table is None and "|" not in above + below:  # a row alone may belong to a letterhead
            continue
        if table is not None:  # else the last table's labels stay: its groups may be separated by blank rows
            header = cells_of(text[slice(*table.header)], table.header[0])
            labels = [text[slice(*one)].replace("_", " ") for one in header]
        texts = tuple(text[left:right] for left, right in cells)
        yield Row(tuple(cells), texts, tuple(labels) if len(labels) == len(cells) else ("",) * len(cells), group, table)


@lru_cache(maxsize=8)
def lists(document: Document) -> tuple[tuple[tuple[int, int], tuple[tuple[int, int], ...]], ...]:
    """Returns (span of the line above, spans of the items) of each list. Indented lines belong to the item above."""
    above, found, text = (0, 0), [], document.text
    heads = {one.start for one in document.marks if one.section and text.startswith(one.section, one.start)}
    filled = _item_lines(text)
    for are_items, run in groupby(filled, key=lambda one: one[0] not in heads and _is_item(text[slice(*one)])):
        lines = [inked(text, *line) for line in run]
        # After bullets, a number is the next section's
        number = next((n for n, (start, _) in enumerate(lines) if text[start].isdigit()), 0) if are_items else 0
        for part in filter(None, (lines[:number], lines[number:])):
            if are_items and len(part) > 1:
                found.append((above, tuple(part)))
            above = part[-1]
    return tuple(found)


def lists_within(document: Document, start: int, end: int) -> list[tuple[tuple[int, int], tuple[tuple[int, int], ...]]]:
    """Returns the lists, as `lists` returns them, that begin within characters ``[start, end)``."""
    return [one for one in lists(document) if start <= one[1][0][0] < end]


def siblings(document: Document, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Returns the spans of a list's items. It is the list around characters ``[start, end)`` or, if these end a line
    such as "You need:", the list below that line. Returns () if there is no list."""
    for above, items in lists(document):
        introduces = above[0] <= start < above[1] and not document.text[end : above[1]].strip(" \t\n:")
        if introduces or items[0][0] <= start < items[-1][1]:
            return items
    return ()


def _is_item(line: str) -> bool:
    return ITEM.match(line.strip()) is not None


def _item_lines(text: str) -> list[tuple[int, int]]:
    """Returns the spans of the lines that are not blank; an item's span includes the indented lines below it."""
    found: list[tuple[int, int]] = []
    is_open = False
    for start, end in line_spans(text):
        line = text[start:end]
        if not line.strip():
            is_open = False
        elif is_open and line[0] in " \t" and not _is_item(line):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
            is_open = _is_item(line)
    return found


def is_numbered_title(line: str, following: str) -> bool:
    """Returns whether a line is a numbered title: what follows is text or its first sub-number, not the next number."""
    number = _NUMBERED.match(line)
    if number is None or not len(line.split()) <= min(_TITLE_WORDS, len(following.split()) - 1):
        return False
    return _NUMBERED.match(following) is None or following.startswith(f"{line[: number.end()].strip(' .)')}.")


def titles_of(text: str) -> list[tuple[int, str]]:
    """Returns (offset, title) of the titles in a plain text: lines after a blank line, with a number or in capitals."""
    filled = [span for span in line_spans(text) if text[slice(*span)].strip()]
    found = []
    for (_, before), (start, end), (below, stop) in zip([(0, 0), *filled], filled, filled[1:], strict=False):
        if start and before == start:  # no blank line above: most lines
            continue
        line, following = text[start:end].strip(), text[below:stop].strip()
        is_title = is_numbered_title(line, following) or (line.isupper() and _CAPITALS.fullmatch(line))
        goes_on = following[0].islower() or line[-1] in (",;:!?" if end < below else ".,;:!?")
        if is_title and not goes_on and not _DATE.match(line):
            found.append((start, line))
    return found


def inked(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the span ``[start, end)`` without the blanks at either end."""
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), max(start, end - len(said) + len(said.rstrip()))


def rows_like(found: Sequence[Row], start: int) -> list[Row]:
    """Returns the rows with the same labels as the row of the cell at ``start``, that row included."""
    one = next((row for row in found if any(cell[0] == start for cell in row.cells)), None)
    return [row for row in found if one and row.labels == one.labels and len(row.cells) == len(one.cells)]


def column(found: Sequence[Row], start: int) -> list[tuple[int, int]]:
    """Returns the spans of the filled cells in the column of the cell at ``start``, in rows with the same labels."""
    same = rows_like(found, start)
    at = next((at for row in same for at, cell in enumerate(row.cells) if cell[0] == start), 0)
    return [row.cells[at] for row in same if row.texts[at]]


def whole_value(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the span ``[start, end)``, widened to the whole of each code, address, number, account or date that it
    overlaps: a part of one would be another value. Digits alone, such as a year, are not widened to a date."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    near = max(line, start - _NEAR), min(len(text) if stop < 0 else stop, end + _NEAR)
    kinds = (_VALUE,) if text[start:end].isdecimal() else (_VALUE, _DATE)
    for match in (match for kind in kinds for match in kind.finditer(text, *near)):
        if match.start() < end and start < match.end():
            start, end = min(start, match.start()), max(end, match.end())
    return start, end
