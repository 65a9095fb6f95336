"""Tables in a document's text, and their headers: lines whose cells are separated by pipes, tabs or wide blanks."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

ROW = re.compile(r"\||\t| {3,}")
"""The separators of cells: a line with one of them may be a row."""
RULE = re.compile(r"[\s|:+=-]+")
_LONGEST = 2000  # most characters of a row; a longer line is no row
_TITLE = 80  # most characters of a line in a table that is the title of some rows
_PIPE, _TAB = re.compile(r"(?<!\\)\|"), re.compile("\t")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


@dataclass(frozen=True)
class Table:
    """A table as character spans of the text: its header, and ``[start, end)`` of the rows below."""

    header: tuple[int, int]
    start: int
    end: int


@lru_cache(maxsize=8)
def tables(text: str) -> tuple[Table, ...]:
    """Returns the tables with a header: a first row that is above a rule, lacks digits, or alone begins with a pipe."""
    found: list[Table] = []
    block: list[tuple[int, int, bool]] = []  # rows so far: start, end, whether it is a rule
    spans = [*line_spans(text), (len(text), len(text))]
    for number, (start, end) in enumerate(spans):
        line = text[start:end].strip()
        if block and line and not ROW.search(line) and len(line) <= _TITLE:
            row, names = text[slice(*spans[number + 1])], text[slice(*block[0][:2])]
            if "|" in row and len(cells_of(row)) == len(cells_of(names)) > 1:  # the line is the title of the rows below
                continue
        rule = bool(line) and len(line) <= _LONGEST and RULE.fullmatch(line) is not None
        if line and len(line) <= _LONGEST and (rule or ROW.search(line)):
            if rule and len(block) > 1 and not block[-1][2]:
                # The row above a rule is the header of another table
                last = block.pop()
                found += _headed(text, block)
                block = [last]
            block.append((start, end, rule))
            continue
        found += _headed(text, block)
        block = []
    return tuple(found)


def _headed(text: str, block: list[tuple[int, int, bool]]) -> Iterator[Table]:
    if len(block) < 2 or block[0][2]:
        return
    (start, end, _), below = block[0], block[1]
    header, row = text[start:end].strip(), text[below[0] : below[1]]
    plain = YEAR.sub("", header)
    names_columns = not re.search(r"\d", plain) and (plain == header or not YEAR.search(row))
    # Readers put a pipe before a row of headings; before others only if their first cell is empty
    if below[2] or (header.startswith("|") and not row.lstrip().startswith("|")) or names_columns:
        rows = block[2:] if below[2] else block[1:]
        if rows:
            left = start + text[start:end].index(header)
            yield Table((left, left + len(header)), rows[0][0], rows[-1][1])


def header_above(text: str, at: int) -> str:
    """Returns the header of the table whose rows contain the character at ``at``; empty if there is none."""
    table = table_at(text, at)
    return text[slice(*table.header)] if table else ""


def labelled(header: str, row: str) -> str:
    """Returns a row for display, "Code: E7 · Meaning: pump blocked"; "" unless the row has one cell per label."""
    labels, cells = cells_of(header), cells_of(row)
    if len(labels) < 2 or len(labels) != len(cells):
        return ""
    pairs = [(header[slice(*one)], row[slice(*two)]) for one, two in zip(labels, cells, strict=True)]
    return " · ".join(f"{label}: {value}" if label else value for label, value in pairs if value)


def table_at(text: str, at: int) -> Table | None:
    """Returns the table whose rows contain the character at ``at``; None if there is none."""
    every = tables(text)
    number = bisect_right([table.start for table in every], at) - 1
    return every[number] if number >= 0 and at < every[number].end else None


def tables_within(text: str, start: int, end: int) -> tuple[Table, ...]:
    """Returns the tables that have characters in ``[start, end)``, in their header or in their rows."""
    every = tables(text)
    first = bisect_right(every, start, key=lambda table: table.end)
    return every[first : bisect_left(every, end, key=lambda table: table.header[0])]


def cells_of(line: str, at: int = 0) -> list[tuple[int, int]]:
    """Returns the spans of a line's cells, split at pipes or else tabs; [] without these. ``at``: the line's offset."""
    inner, begin = line.rstrip("\r\n"), 0
    mark = _PIPE if _PIPE.search(inner) else _TAB
    if mark is _PIPE:
        begin = len(inner) - len(inner.lstrip())
        inner = inner.strip()
        if inner.startswith("|"):
            inner, begin = inner[1:], begin + 1
            inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    edges = [0, *(at for match in mark.finditer(inner) for at in match.span()), len(inner)]
    cells = []
    for start, end in zip(edges[::2], edges[1::2], strict=True) if len(edges) > 2 else ():
        part = inner[start:end]
        left = at + begin + start + len(part) - len(part.lstrip())
        cells.append((left, max(left, at + begin + start + len(part.rstrip()))))
    return cells


def line_spans(text: str, start: int = 0, stop: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """Returns the character spans of a text's lines, line feeds included; no other character ends a line."""
    return (line.span() for line in _LINE.finditer(text, start, stop))


def outlines(text: str) -> list[tuple[tuple[int, int], str]]:
    """Returns, for each table of a text, its header's range, and a line with the number of rows and the labels."""
    found = []
    for table in tables(text):
        header = text[slice(*table.header)]
        n_rows = sum(ROW.search(text[start:end]) is not None for start, end in line_spans(text, table.start, table.end))
        labels = " · ".join(header[slice(*cell)] for cell in cells_of(header))
        found.append((table.header, f"{n_rows:,} rows: {labels}"))
    return found


def shape_of(text: str) -> str:
    """Returns a text with "0" for its digits and "a" for its letters: codes, dates and amounts have shapes."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text))
