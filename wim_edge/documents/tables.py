"""Tables in the text of a document: lines whose cells are parted by pipes, tabs or wide blanks, and their headers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

ROW = re.compile(r"\||\t| {3,}")
"""The marks of a line that may be a row."""
RULE = re.compile(r"[\s|:+=-]+")
_LONGEST = 2000  # the most characters of a row; a longer line is none
_TITLE = 80  # the most characters of a line in a table that is the title of some of its rows
_PIPE, _TAB = re.compile(r"(?<!\\)\|"), re.compile("\t")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


@dataclass(frozen=True)
class Table:
    """A table, as characters of the text: of its header, and of the rows below it."""

    header: tuple[int, int]
    start: int
    end: int


@lru_cache(maxsize=8)
def tables(text: str) -> tuple[Table, ...]:
    """Returns the tables of a text whose first row is a header: it holds no digit except those of years, which the next
    row lacks, or a rule stands below it."""
    found: list[Table] = []
    block: list[tuple[int, int, bool]] = []
    spans = [*line_spans(text), (len(text), len(text))]
    for number, (start, end) in enumerate(spans):
        line = text[start:end].strip()
        if block and line and not ROW.search(line) and _names_rows(text, block[0], line, spans[number + 1]):
            continue
        rule = bool(line) and len(line) <= _LONGEST and RULE.fullmatch(line) is not None
        if line and len(line) <= _LONGEST and (rule or ROW.search(line)):
            if rule and len(block) > 1 and not block[-1][2]:
                # The row above a rule names the columns of another table
                last = block.pop()
                found += _headed(text, block)
                block = [last]
            block.append((start, end, rule))
            continue
        found += _headed(text, block)
        block = []
    return tuple(found)


def _names_rows(text: str, header: tuple[int, int, bool], line: str, below: tuple[int, int]) -> bool:
    """Tells whether a line is the title of some rows of a table: it is short, and a row of that table stands below."""
    if len(line) > _TITLE or "|" not in text[slice(*below)]:
        return False
    return len(cells_of(text[slice(*below)])) == len(cells_of(text[header[0] : header[1]])) > 1


def _headed(text: str, block: list[tuple[int, int, bool]]) -> Iterator[Table]:
    if len(block) < 2 or block[0][2]:
        return
    (start, end, _), below = block[0], block[1]
    header = text[start:end].strip()
    # Before a row of headings alone, and no other, what reads HTML puts a pipe
    of_headings = header.startswith("|") and not text[below[0] : below[1]].lstrip().startswith("|")
    if below[2] or of_headings or _names_columns(header, text[below[0] : below[1]]):
        rows = block[2:] if below[2] else block[1:]
        if rows:
            left = start + text[start:end].index(header)
            yield Table((left, left + len(header)), rows[0][0], rows[-1][1])


def _names_columns(row: str, below: str) -> bool:
    plain = YEAR.sub("", row)
    return not re.search(r"\d", plain) and (plain == row or not YEAR.search(below))


def header_above(text: str, at: int) -> str:
    """Returns the header of the table that goes on at this character; empty if there is none."""
    table = table_at(text, at)
    return text[slice(*table.header)] if table else ""


def labelled(header: str, row: str) -> str:
    """Returns a row in the form for a person, "Code: E7 · Meaning: pump blocked"; empty unless it has as many cells as
    there are labels."""
    labels, cells = cells_of(header), cells_of(row)
    if len(labels) < 2 or len(labels) != len(cells):
        return ""
    pairs = [(header[slice(*one)], row[slice(*two)]) for one, two in zip(labels, cells, strict=True)]
    return " · ".join(f"{label}: {value}" if label else value for label, value in pairs if value)


def table_at(text: str, at: int) -> Table | None:
    """Returns the table whose rows stand at this character; None if there is none."""
    every = tables(text)
    number = bisect_right([table.start for table in every], at) - 1
    return every[number] if number >= 0 and at < every[number].end else None


def cells_of(line: str, at: int = 0) -> list[tuple[int, int]]:
    """Returns the cells of a line that begins at a character of the text, parted by pipes or tabs, empty ones too, each
    as its characters."""
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
        right = max(left, at + begin + start + len(part.rstrip()))
        cells.append((left, right))
    return cells


def line_spans(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """Yields the lines of a text, each as its characters with its line feed; no other character ends a line."""
    stop = len(text) if stop is None else stop
    while start < stop:
        end = text.find("\n", start, stop) + 1 or stop
        yield start, end
        start = end
