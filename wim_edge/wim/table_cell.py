"""The cell of a table that a question asks for: where one row and one column have its words.

"Which room is Hugo Tindall in" names a column, room, and a row. No model is needed to look that up, and a small one
mixes up columns. Where two rows or two columns fit equally well, or words of the question are left over, nothing is
looked up.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wim_edge import words
from wim_edge.documents import Document, Segment
from wim_edge.wim.quotation import header_above

_BETWEEN = (re.compile(r"\|"), re.compile(r"\t"), re.compile(r" {3,}"))
"""What parts the cells of a row: the first of these that the row holds."""
_RULE = re.compile(r"[\s|:+=-]+")
_COVERED = 0.7
"""Share of the question's words that the row, the labels and the titles above must have."""
_MOST_ROWS = 2000
_KEY = 2
"""A word counts so much in the first column, which names the rows."""
_STEM, _SHORT = 4, 3
"""Letters that two words begin with to be akin, and those of an abbreviation: "Ext." is the extension."""


@dataclass(frozen=True)
class _Cell:
    """Characters ``[start, end)`` of the document."""

    start: int
    end: int
    words: frozenset[str]


def table_cell(document: Document, segment: Segment, question: str) -> tuple[int, int] | None:
    """Returns the cell, as characters of the document, that the question asks for in the segment; None where there is
    no table, or no single one."""
    asked = words.without_endings(question)
    for header, rows in _tables(document.text, segment):
        columns = [frozenset(word for word in asked if _is_of(word, label)) for label in header]
        column = _only_best([len(found) for found in columns])
        if column is None:
            continue
        rest = asked - columns[column]
        counts = Counter(word for row in rows for word in frozenset().union(*(cell.words for cell in row)) & rest)
        weights = {word: math.log(1 + len(rows) / n) for word, n in counts.items()}
        hits = [_named(row, column) & rest for row in rows]
        best = _only_best([
            sum(weights[word] * (_KEY if word in row[0].words else 1) for word in found)
            for row, found in zip(rows, hits, strict=True)
        ])  # fmt: skip
        if best is None or len(rows[best]) <= column:
            continue
        told = words.without_endings(f"{document.title} {document.place(segment.start, segment.end).section or ''}")
        if len(hits[best].union(told & asked, *columns)) >= _COVERED * len(asked):
            cell = rows[best][column]
            inside = segment.start <= cell.start and cell.end <= segment.end
            return (cell.start, cell.end) if cell.words and inside else None
    return None


def _tables(text: str, segment: Segment) -> Iterator[tuple[list[str], list[list[_Cell]]]]:
    """The tables that a segment begins, holds or goes on with: the labels of their columns, and all their rows."""
    at = segment.start
    while at < segment.end:
        stop = _line_end(text, at)
        header = header_above(text, at) if text[at:stop].strip() else ""
        if header:
            top = text.rindex(header, 0, at)
            rows, at = _rows(text, _line_end(text, top))
            labels = [header[cell.start : cell.end] for cell in _cells(header, 0)]
            if len(labels) > 1 and rows:
                yield labels, rows
        else:
            at = stop


def _rows(text: str, at: int) -> tuple[list[list[_Cell]], int]:
    """The rows of a table from a character on, and where it ends."""
    rows: list[list[_Cell]] = []
    while at < len(text) and len(rows) < _MOST_ROWS:
        stop = _line_end(text, at)
        line = text[at:stop]
        if not any(between.search(line.strip()) for between in _BETWEEN):
            break
        if not _RULE.fullmatch(line.strip()):
            rows.append(list(_cells(line.rstrip(), at)))
        at = stop
    return rows, at


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _cells(line: str, at: int) -> Iterator[_Cell]:
    """The cells of a line that begins at a character of the document, the empty ones too."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    begin = line.find(inner)
    between = next((one for one in _BETWEEN if one.search(inner)), _BETWEEN[0])
    cuts = [(match.start(), match.end()) for match in between.finditer(inner)]
    for start, end in zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(inner)], strict=True):
        text = inner[start:end]
        left = at + begin + start + len(text) - len(text.lstrip())
        yield _Cell(left, max(left, at + begin + start + len(text.rstrip())), frozenset(words.without_endings(text)))


def _named(row: list[_Cell], column: int) -> frozenset[str]:
    """The words of a row but for those in the column that is asked for."""
    return frozenset().union(*(cell.words for number, cell in enumerate(row) if number != column))


def _is_of(word: str, label: str) -> bool:
    """Whether a word of the question means a column's label."""
    for other in words.without_endings(label):
        if word == other or (len(other) >= _SHORT and word.startswith(other)):
            return True
        if len(other) >= _STEM and len(word) >= _STEM and word[:_STEM] == other[:_STEM]:
            return True
    return False


def _only_best(scores: Sequence[float]) -> int | None:
    """The number of the highest score above 0, if there is one alone."""
    best = [number for number, score in enumerate(scores) if score == max(scores)]
    return best[0] if len(best) == 1 and scores[best[0]] > 0 else None
