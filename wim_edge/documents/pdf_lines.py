"""The lines of a PDF's page, with the places of their words: in the order in which they are read, columns one after
the other.

They are as they were drawn, except for those that cross the gutter between two columns of text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from statistics import median
from typing import NamedTuple

from wim_edge.documents.pdf_words import Word, WordRow, WordRows

_WIDE = 0.7  # the width of a gap between two cells, in heights of the line: about the size of its font
_PROSE = 25  # the characters of a line, at the least, that is one of a column of text
_GUTTER = 0.6  # of a line's height
_FEW, _COLUMN, _GAPS = 6, 0.6, 20
_STRADDLING = 0.15  # the share of lines, at most, that may go over the gutter of two columns: headings and figures do
_FAR = 100_000  # points
_DRAWN_BACK = 6  # the rows back from the last one to which a line may belong
_DRAWN_ACROSS = 0.3
"""The share of lines, at the least, drawn over both columns, from which the columns are put one after the other."""


class Line(NamedTuple):
    """Words in a row, and their place."""

    words: tuple[Word, ...]
    bottom: float
    top: float
    left: float
    right: float
    text: str
    is_whole: bool = False
    """True if it neither goes on in another line nor is a part of a table."""
    weight: int = 0
    """The weight of its font, 400 for a usual one; 0: not known."""

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def cut(self, places: Sequence[int]) -> list[Line]:
        """Returns the lines that begin with the first word and the words of these numbers."""
        if not places:
            return [self]
        ends = zip([0, *places], [*places, len(self.words)], strict=True)
        return [line_of(self.words[begin:end], self.bottom, self.top) for begin, end in ends]

    def is_beside(self, other: Line) -> bool:
        """Tells whether the two stand at one height."""
        return abs(self.top + self.bottom - other.top - other.bottom) < min(self.height, other.height)


def line_of(words: Sequence[Word], bottom: float, top: float) -> Line:
    left, right = min([word.left for word in words]), max([word.right for word in words])
    return Line(tuple(words), bottom, top, left, right, " ".join([word.text for word in words]))


def page_lines(found: WordRows) -> list[Line]:
    """Returns the lines of a page; what is read in another direction follows, as if it stood below the rest."""
    lines = (in_columns([_line(row, number) for row in rows]) for number, rows in enumerate(found.rows))
    return [one._replace(weight=min(found.weight(word.start) for word in (one.words[0], one.words[-1])))
            for some in lines for one in some]  # fmt: skip


def _line(row: WordRow, number: int) -> Line:
    width = sum([word.right - word.left for word in row.words]) / sum([len(word.text) for word in row.words])
    # Fonts that are drawn by hand tell no height: letters are half as wide as high
    height = row.top - row.bottom if row.top - row.bottom > width else max(2 * width, 1)
    bottom = row.bottom - _FAR * number
    return line_of(row.words, bottom, bottom + height)


def fragments(line: Line) -> list[Line]:
    """Returns the stretches of a line that wide gaps part, in their order."""
    wide = _WIDE * line.height
    return line.cut([
        at for at, (one, other) in enumerate(pairwise(line.words), 1)
        if other.left - one.right > wide or one.left - other.right > wide
    ])  # fmt: skip


def in_columns(lines: Sequence[Line]) -> list[Line]:
    """Returns the lines of a page with two columns of text one column after the other: between two that go over both,
    the left one first. Lines that were drawn so stay as they are."""
    drawn = [fragments(line) for line in lines]
    gutter = _gutter([part for parts in drawn for part in parts])
    if gutter is None:
        return list(lines)
    across = sum(parts[0].right < gutter < parts[-1].left for parts in drawn)
    if across < _DRAWN_ACROSS * len(lines):  # a table, or a heading, over both
        return list(lines)
    made: list[Line] = []
    every = (part for parts in drawn for part in parts)
    for _, band in groupby(every, key=lambda part: part.left < gutter < part.right):
        made += sorted(band, key=lambda part: part.left > gutter)  # those of a column stay in their order
    return made


def _gutter(parts: Sequence[Line]) -> float | None:
    """Returns the middle of the gap between two columns of text; None where there are none."""
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
    """Tells whether these are the lines of a column of text: most go about as far as its widest, unlike cells."""
    if len(parts) < _FEW:
        return False
    widths = [part.right - part.left for part in parts]
    return median(widths) >= _COLUMN * (max(part.right for part in parts) - min(part.left for part in parts))


def _free(parts: Sequence[Line], least: float) -> Iterator[tuple[float, float]]:
    """Yields the gaps, as wide at least, that nearly all lines leave free, the widest first."""
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
    """Returns the lines in rows, from above. One at the height of one of the last few rows is of that row, if it stands
    beside what is there: cells of several lines are drawn before those to their right."""
    rows: list[list[Line]] = []
    spans: dict[int, list[tuple[float, float]]] = {}  # of each row, from the left
    for line in lines:
        middle, height = line.top + line.bottom, line.height
        for row in rows[: -_DRAWN_BACK - 1 : -1]:
            if abs(row[0].top + row[0].bottom - middle) >= height:  # most are so, and this is quick
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
