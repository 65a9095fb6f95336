"""The lines of a PDF's page, with the places of their words: in the order in which they are read, columns one after
the other.

PDFium returns a page's characters in the order in which the program that made it drew them, mostly that in which they
are read. Lines are PDFium's, except for those that cross the gutter between two columns of text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Any

BROKEN = "\ufffe\x02"
"""The sign that PDFium writes for a hyphen that only broke the line, and a file for another one."""
_NO_TEXT = re.compile("[\u00ad\x00]")
_ROW, _WORD = re.compile(rf"[^\r\n{BROKEN}]+[{BROKEN}]?"), re.compile(r"\S+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE = 0.7
"""The width of a gap between two cells, in heights of the line: about the size of its font."""
_PROSE = 25
"""The characters of a line, at the least, that is one of a column of text."""
_GUTTER = 0.6  # of a line's height
_FEW, _COLUMN = 6, 0.6
_STRADDLING = 0.15
"""The share of lines, at most, that may go over the gutter of two columns: headings and figures do."""


_DRAWN_BACK = 6
"""The rows back from the last one to which a line may belong."""
_DRAWN_ACROSS = 0.3
"""The share of lines, at the least, drawn over both columns, from which the columns are put one after the other."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, and its place: points from the left, as the page is shown."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """Words in a row, and their place."""

    words: tuple[Word, ...]
    bottom: float
    top: float
    left: float
    right: float
    text: str

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
    left, right = min(word.left for word in words), max(word.right for word in words)
    return Line(tuple(words), bottom, top, left, right, " ".join([word.text for word in words]))


def page_lines(page: Any) -> list[Line]:
    """Returns the lines of a page of pypdfium2's, in the order in which they are read."""
    return in_columns(list(_lines(page)))


def _lines(page: Any) -> Iterator[Line]:
    import pypdfium2.raw as raw

    chars = page.get_textpage()
    handle, unicode_of, box_of = chars.raw, raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox
    text = chars.get_text_range()
    if len(text) != chars.count_chars():  # characters that it leaves out, or of other planes: one by one
        text = "".join([chr(unicode_of(handle, at)) for at in range(chars.count_chars())])
    rect, as_shown = raw.FS_RECTF(), _as_shown(page)
    place = ctypes.byref(rect)
    for row in _ROW.finditer(text):
        words, heights = [], []
        for word in _WORD.finditer(text, row.start(), row.end()):
            start, end = word.span()
            box_of(handle, start, place)
            left, bottom, right, top = as_shown(rect)
            if end - start > 1:
                box_of(handle, end - 1, place)
                left_too, _, right_too, _ = as_shown(rect)
                left, right = min(left, left_too), max(right, right_too)
            if shown := _NO_TEXT.sub("", word[0]):
                words.append(Word(_whole(shown), left, right))
                heights.append((bottom, top))
        if words:
            # A raised or large letter says nothing of the line
            bottom, top = median(one for one, _ in heights), median(one for _, one in heights)
            width = sum(word.right - word.left for word in words) / sum(len(word.text) for word in words)
            # Fonts that are drawn by hand tell no height: letters are half as wide as high
            height = top - bottom if top - bottom > width else max(2 * width, 1)
            yield line_of(words, bottom, bottom + height)


def _as_shown(page: Any) -> Callable[[Any], tuple[float, float, float, float]]:
    """Returns a function from a rectangle of PDFium's to left, bottom, right and top on the page as it is turned."""
    turn = page.get_rotation()
    if turn == 90:
        return lambda one: (one.bottom, -one.right, one.top, -one.left)
    if turn == 180:
        return lambda one: (-one.right, -one.top, -one.left, -one.bottom)
    if turn == 270:
        return lambda one: (-one.top, one.left, -one.bottom, one.right)
    return lambda one: (one.left, one.bottom, one.right, one.top)


def _whole(text: str) -> str:
    """Returns the text with pairs of surrogates as the one character that each is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _SURROGATE.search(text) else text


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
    return iter(sorted(gaps, key=lambda gap: gap[0] - gap[1]))


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Returns the lines in rows, from above. One at the height of one of the last few rows is of that row, if it stands
    beside what is there: cells of several lines are drawn before those to their right."""
    rows: list[list[Line]] = []
    for line in lines:
        for row in rows[: -_DRAWN_BACK - 1 : -1]:
            if row[0].is_beside(line) and all(one.right <= line.left or one.left >= line.right for one in row):
                row.append(line)
                break
        else:
            at = len(rows)
            while at and len(rows) - at < _DRAWN_BACK and 0 < line.bottom - rows[at - 1][0].bottom < 4 * line.height:
                at -= 1
            rows.insert(at, [line])
    return rows
