"""The lines of a PDF page, with the places of their words, in reading order: one column after the other.

Lines stay as PDFium drew them, unless many are drawn across two columns of text: those are split at the gutter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from statistics import median
from typing import NamedTuple

from wim_edge.documents.pdf_words import Word, WordRow, WordRows

_WIDE = 0.7  # least gap between two cells, in line heights: about the font size
_PROSE = 25  # least characters of a line in a column of text
_GUTTER = 0.6  # least width of the gap between two columns of text (the gutter), in line heights
_FEW, _COLUMN, _GAPS = 6, 0.6, 20  # least lines of a column; their median width as a share of its own; most gaps tried
_STRADDLING = 0.15  # the largest share of lines that cross the gutter, such as headings
_FAR = 100_000  # points; text in another direction is placed this far below the page
_DRAWN_BACK = 6  # the number of last rows that a line may join
_DRAWN_ACROSS = 0.3  # the columns are separated if at least this share of the lines is drawn across both


class Line(NamedTuple):
    """Words at one height, and the box around them, in points in reading direction."""

    words: tuple[Word, ...]
    bottom: float
    top: float
    left: float
    right: float
    text: str
    is_whole: bool = False
    """True for a complete line, such as a form field's: it is not joined to others, nor part of a table."""
    weight: int = 0
    """The weight of its font (400: regular; 0: unknown)."""

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def cut(self, places: Sequence[int]) -> list[Line]:
        """Returns the parts of the line, split before the words with these indices."""
        if not places:
            return [self]
        ends = zip([0, *places], [*places, len(self.words)], strict=True)
        parts = [line_of(self.words[begin:end], self.bottom, self.top) for begin, end in ends]
        return [part._replace(weight=self.weight) for part in parts]

    def is_beside(self, other: Line) -> bool:
        """Returns whether two lines are at the same height."""
        return abs(self.top + self.bottom - other.top - other.bottom) < min(self.height, other.height)


def line_of(words: Sequence[Word], bottom: float, top: float) -> Line:
    left, right = min([word.left for word in words]), max([word.right for word in words])
    return Line(tuple(words), bottom, top, left, right, " ".join([word.text for word in words]))


def page_lines(found: WordRows) -> list[Line]:
    """Returns the lines of a page; text in another reading direction follows, placed below all other text."""
    lines = (in_columns([_line(row, number) for row in rows]) for number, rows in enumerate(found.rows))
    return [one._replace(weight=min(found.weight(word.start) for word in (one.words[0], one.words[-1])))
            for some in lines for one in some]  # fmt: skip


def _line(row: WordRow, number: int) -> Line:
    width = sum([word.right - word.left for word in row.words]) / sum([len(word.text) for word in row.words])
    # Hand-drawn fonts have no height: it is estimated as twice a letter's width
    height = row.top - row.bottom if row.top - row.bottom > width else max(2 * width, 1)
    bottom = row.bottom - _FAR * number
    return line_of(row.words, bottom, bottom + height)


def fragments(line: Line) -> list[Line]:
    """Returns the fragments of a line, in order: its parts between wide gaps."""
    wide = _WIDE * line.height
    return line.cut([
        at for at, (one, other) in enumerate(pairwise(line.words), 1)
        if other.left - one.right > wide or one.left - other.right > wide
    ])  # fmt: skip


def in_columns(lines: Sequence[Line]) -> list[Line]:
    """Returns a page's lines with the left column of text before the right one; a line across both divides them into
    upper and lower parts. Pages without columns, or drawn column by column, stay as they are."""
    drawn = [fragments(line) for line in lines]
    gutter = _gutter([part for parts in drawn for part in parts])
    # Few lines across both columns are tables or headings: the page is drawn column by column
    if gutter is None or sum(one[0].right < gutter < one[-1].left for one in drawn) < _DRAWN_ACROSS * len(lines):
        return list(lines)
    made: list[Line] = []
    every = (part for parts in drawn for part in parts)
    for _, band in groupby(every, key=lambda part: part.left < gutter < part.right):
        made += sorted(band, key=lambda part: part.left > gutter)  # keeps the order within a column
    return made


def _gutter(parts: Sequence[Line]) -> float | None:
    """Returns the middle (x) of the gap between two columns of text; None if there are no columns."""
    prose = [part for part in parts if len(part.text) >= _PROSE]
    if len(prose) < 2 * _FEW:
        return None
    left, right = min(part.left for part in prose), max(part.right for part in prose)
    least = _GUTTER * median(part.height for part in prose)
    for begin, end in _free(prose, least):
        middle = (begin + end) / 2
        if not 0.3 < (middle - left) / (right - left) < 0.7:
            continue
        over = sum(part.left < begin and part.right > end for part in prose)
        sides = [part for part in parts if part.right <= end], [part for part in parts if part.left >= begin]
        if over <= _STRADDLING * len(prose) and all(map(_is_column, sides)):
            return middle
    return None


def _is_column(parts: Sequence[Line]) -> bool:
    """Returns whether these lines form a column of text: unlike cells, most are about as wide as the widest."""
    if len(parts) < _FEW:
        return False
    widths = [part.right - part.left for part in parts]
    return median(widths) >= _COLUMN * (max(part.right for part in parts) - min(part.left for part in parts))


def _free(parts: Sequence[Line], least: float) -> Iterator[tuple[float, float]]:
    """Yields (left, right) of gaps at least ``least`` wide that hardly any line crosses, the widest first."""
    allowed = _STRADDLING * len(parts)
    ends = sorted([(part.left, 1) for part in parts] + [(part.right, -1) for part in parts])
    open_ones, gaps = 0, []
    begin: float | None = None
    for x, step in ends:
        if begin is not None and x - begin >= least and open_ones <= allowed:
            gaps.append((begin, x))
        open_ones += step
        begin = x
    return islice(sorted(gaps, key=lambda gap: gap[0] - gap[1]), _GAPS)


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Returns the lines grouped into rows, from the top. A line joins one of the last few rows if it is at that row's
    height and no other line is in its place: all lines of a cell are drawn before the next cell."""
    rows: list[list[Line]] = []
    spans: dict[int, list[tuple[float, float]]] = {}  # by the id of a row: (left, right) of its lines, in order
    for line in lines:
        middle, height = line.top + line.bottom, line.height
        for row in rows[: -_DRAWN_BACK - 1 : -1]:
            if abs(row[0].top + row[0].bottom - middle) >= height:  # a quick test that excludes most rows
                continue
            taken, span = spans[id(row)], (line.left, line.right)
            at = bisect_right(taken, span)
            is_free = all(one[1] <= line.left or one[0] >= line.right for one in taken[max(0, at - 1) : at + 1])
            if row[0].is_beside(line) and is_free:
                taken.insert(at, span)
                row.append(line)
                break
        else:
            at = len(rows)
            while at and len(rows) - at < _DRAWN_BACK and 0 < line.bottom - rows[at - 1][0].bottom < 4 * line.height:
                at -= 1
            rows.insert(at, [line])
            spans[id(rows[at])] = [(line.left, line.right)]
    return rows
