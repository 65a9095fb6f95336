"""The lines of a PDF page, with the places of their words, in reading order: one column of text after the other."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, pairwise
from statistics import median, median_low
from typing import NamedTuple

from wim_edge.documents.pdf_words import Box, Word, WordRow, WordRows

_WIDE = 0.7  # least gap between two cells, in line heights: about the font size
_PROSE = 25  # least characters of a line in a column of text
_GUTTER = 0.6  # least width of the gap between two columns of text (the gutter), in line heights
_FEW, _COLUMN, _GAPS = 6, 0.6, 20  # least lines of a column; their median width as a share of its own; most gaps tried
_STRADDLING = 0.15  # the largest share of lines that cross the gutter, such as headings
_ONE_RULE = 2.0  # points; rules less than this apart in height are parts of one
_FAR = 100_000  # points; text in another direction is placed this far below the page
_DRAWN_BACK = 6  # the number of last rows that a line may join
_DRAWN_ACROSS = 0.3  # the columns are separated if at least this share of the lines is drawn across both
SAME_SIZE, APART = 0.15, 1.35  # the tolerance of equal sizes, and the step to another block in line heights
_LARGER, _HEAVIER, _ALIKE = 1.2, 1.2, 0.05
"""The least size and weight of a heading relative to body text, and the tolerance between sizes that count as equal."""
_LONGEST, _LINES, _BODY = 120, 3, 40
"""The most characters and lines of a heading, and the least characters of a line of text below it."""
_ROWS, _TRIED, _FEWER = 1000, 100, 60
"""The most rows of a table or of columns of text. After ``_TRIED`` rows of a page began no table, it is ``_FEWER``."""
CLOSE = 0.4  # widest gap in a cell, or in a column of text, in line heights
_FEWEST, _SENTENCE, _FULL, LOWER, RUNNING = 3, 20, 0.6, 0.4, 0.8
"""The least values for a column of text: lines, characters a line, the median line's width as a share of the column's,
and the share of lines that begin in lower case; for running text, also the share of full lines."""
_TIMES = 3  # a title on at least this many pages is a running head
_NUMBER, _NO_HEADING = re.compile(r"(?:\w{1,9}\.?\s)?[\d.]*"), re.compile(r"[.!,;:。，；：]$|(?:\.\s?){4}")


class Line(NamedTuple):
    """A line: words at one height, and the box around them, in points, with the page turned to reading direction."""

    words: tuple[Word, ...]
    bottom: float
    top: float
    left: float
    right: float
    text: str
    is_whole: bool = False
    """True for a complete line, such as a form field's: it is not joined to others, nor part of a table."""
    weight: int = 0
    """The weight of the line's font (400: regular; 0: unknown)."""
    band: int = 0
    """The number of the rule above the line, counted from the page's foot, if one spans it; 0 if none does."""

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def cut(self, parts: Callable[[Word, Word], bool]) -> list[Line]:
        """Returns the parts of the line, which is split between successive words for which ``parts`` returns True."""
        places = [at for at, pair in enumerate(pairwise(self.words), 1) if parts(*pair)]
        if not places:
            return [self]
        ends = zip([0, *places], [*places, len(self.words)], strict=True)
        made = (line_of(self.words[begin:end], self.bottom, self.top) for begin, end in ends)
        return [part._replace(weight=self.weight, band=self.band) for part in made]

    def is_beside(self, other: Line) -> bool:
        """Returns whether this line and ``other`` are at about the same height on the page."""
        return abs(self.top + self.bottom - other.top - other.bottom) < min(self.height, other.height)


def line_of(words: Sequence[Word], bottom: float, top: float) -> Line:
    left, right = min([word.left for word in words]), max([word.right for word in words])
    return Line(tuple(words), bottom, top, left, right, " ".join([word.text for word in words]))


def page_lines(found: WordRows) -> list[Line]:
    """Returns a page's lines. Lines in a second or further reading direction follow, placed far below the others."""
    lines = (in_columns([_line(row, number) for row in rows]) for number, rows in enumerate(found.rows))
    rules = [] if found.from_right else _rules(found.rules)
    return [one._replace(weight=min(found.weight(word.start) for word in (one.words[0], one.words[-1])),
                         band=_band(one, rules)) for some in lines for one in some]  # fmt: skip


def _rules(boxes: Sequence[Box]) -> list[tuple[float, float, float]]:
    """Returns (height, left, right) of a page's horizontal rules, from its foot. Those at one height are one rule."""
    made: list[tuple[float, float, float]] = []
    flat = [(bottom, left, right) for left, bottom, right, top in boxes if right - left > top - bottom]
    for bottom, left, right in sorted(flat):
        if made and bottom - made[-1][0] < _ONE_RULE:
            made[-1] = made[-1][0], min(made[-1][1], left), max(made[-1][2], right)
        else:
            made.append((bottom, left, right))
    return made


def _band(line: Line, rules: Sequence[tuple[float, float, float]]) -> int:
    first, (left, right) = bisect_right(rules, ((line.bottom + line.top) / 2,)), (line.left + 1, line.right - 1)
    return next((at for at, rule in enumerate(rules[first:], first + 1) if rule[1] <= left and right <= rule[2]), 0)


def _line(row: WordRow, number: int) -> Line:
    words, bottom, top = row
    width = sum([word.right - word.left for word in words]) / sum([len(word.text) for word in words])
    # Hand-drawn fonts have no height: it is estimated as twice a letter's width
    height = top - bottom if top - bottom > width else max(2 * width, 1)
    return line_of(words, bottom - _FAR * number, bottom - _FAR * number + height)


def fragments(line: Line) -> list[Line]:
    """Returns a line's fragments, in order: its parts, split at gaps of more than 0.7 line heights."""
    wide = _WIDE * line.height
    return line.cut(lambda one, other: other.left - one.right > wide or one.left - other.right > wide)


def in_columns(lines: Sequence[Line]) -> list[Line]:
    """Returns a page's lines, the left column of text before the right. A line across both columns divides them into
    upper and lower parts. Lines on pages without columns, or drawn column by column, keep their order."""
    drawn = [fragments(line) for line in lines]
    gutter = _gutter([*chain.from_iterable(drawn)])
    # Few lines across both columns are tables or headings: the page is drawn column by column
    if gutter is None or sum(one[0].right < gutter < one[-1].left for one in drawn) < _DRAWN_ACROSS * len(lines):
        return list(lines)
    made: list[Line] = []
    for _, band in groupby(chain.from_iterable(drawn), key=lambda part: part.left < gutter < part.right):
        made += sorted(band, key=lambda part: part.left > gutter)  # keeps the order within a column
    return made


def _gutter(parts: Sequence[Line]) -> float | None:
    """Returns the middle (x) of the gap between two columns of text; None if there are no columns."""
    prose = [part for part in parts if len(part.text) >= _PROSE]
    if len(prose) < 2 * _FEW:
        return None
    left, right = min(part.left for part in prose), max(part.right for part in prose)
    for begin, end in _free(prose, _GUTTER * median(part.height for part in prose)):
        middle = (begin + end) / 2
        if not 0.3 < (middle - left) / (right - left) < 0.7:
            continue
        over = sum(part.left < begin and part.right > end for part in prose)
        sides = [part for part in parts if part.right <= end], [part for part in parts if part.left >= begin]
        if over <= _STRADDLING * len(prose) and all(map(_is_column, sides)):
            return middle
    return None


def _is_column(parts: Sequence[Line]) -> bool:
    """Returns whether lines form a column of text: unlike table cells, most are nearly as wide as the column."""
    if len(parts) < _FEW:
        return False
    widths = [part.right - part.left for part in parts]
    return median(widths) >= _COLUMN * (max(part.right for part in parts) - min(part.left for part in parts))


def _free(parts: Sequence[Line], least: float) -> Iterator[tuple[float, float]]:
    """Yields (left, right) of vertical gaps at least ``least`` points wide that few lines cross, the widest first."""
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
    height and no other line is in its place: a file may draw all lines of a cell before the next cell."""
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


def columns_at(rows: Sequence[Sequence[Line]], start: int, n_tried: int = 0) -> tuple[int, list[Line]] | None:
    """Returns (index after the last row, lines column by column) of the columns of text that begin at ``rows[start]``,
    or None. A wide gap, or a line across all, ends them. ``n_tried``: how many rows above began no table."""
    first = [cell for row in rows[start : start + 2] for cell in row]
    if len(rows[start]) < 2 or 2 * sum(len(cell.text) for cell in first) < _SENTENCE * len(first):  # figures, quickly
        return None
    columns, end = [(cell.left, cell.right) for cell in rows[start]], start + 1
    for above, row in pairwise(rows[start : start + most_rows(n_tried)]):
        is_across = len(row) == 1 and sum(overlap(row[0], column) > 0 for column in columns) > 1
        if is_across or row[0].bottom > above[0].top or gap(above, row) >= CLOSE:
            break
        columns = union(sorted([*columns, *((cell.left, cell.right) for cell in row)]))
        end += 1
    texts = [[[cell for cell in row if overlap(cell, column) > 0] for row in rows[start:end]] for column in columns]
    texts = [[*filter(None, text)] for text in texts]
    # A box beside running text has lines of their own; a table's text runs on over fewer rows than it has
    are_lines = (2 * sum(line[0].text[:1].isupper() for line in text) > len(text) or _runs_on(text) for text in texts)
    is_beside = 2 * min(map(len, texts)) >= end - start and any(map(_runs_on, texts)) and all(are_lines)
    if len(columns) < 2 or not (is_beside or all(map(_is_text, texts))):
        return None
    return end, [
        line_of([word for cell in cells for word in cell.words], cells[0].bottom, cells[0].top)
        for cells in chain(*texts)
    ]


def _is_text(lines: Sequence[Sequence[Line]]) -> bool:
    """Returns whether a column's lines are text: long, about equally wide, and many begin in lower case."""
    cells = [cell.text for line in lines for cell in line]
    widths = [line[-1].right - line[0].left for line in lines]
    return (
        len(lines) >= _FEWEST and sum(map(len, cells)) >= _SENTENCE * len(lines)
        and median(widths) >= _FULL * max(widths)
        and sum(cell[:1].islower() for cell in cells) >= LOWER * (len(cells) - 1)
    )


def _runs_on(lines: Sequence[Sequence[Line]]) -> bool:
    """Returns whether a column holds running text: on most lines, the next line's first word would not have fitted."""
    words, edge = [line[0].words[0] for line in lines[1:]], max(line[-1].right for line in lines)
    n_full = sum(line[-1].right + word.right - word.left > edge for line, word in zip(lines, words, strict=False))
    return _is_text(lines) and n_full >= RUNNING * len(words)


def union(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for left, right in spans:
        if merged and left < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], right)
        else:
            merged.append((left, right))
    return merged


def overlap(line: Line, column: tuple[float, float]) -> float:
    return min(line.right, column[1]) - max(line.left, column[0])


def gap(above: Sequence[Line], below: Sequence[Line]) -> float:
    """Returns the gap between two rows, in line heights; 0 if they overlap, as vertically centred cells may."""
    points = min(one.bottom for one in above) - max(one.top for one in below)
    return max(0.0, points / max(one.height for one in below))


def most_rows(n_tried: int) -> int:
    return _ROWS if n_tried < _TRIED else _FEWER


def in_blocks(lines: Sequence[Line], usual: float = 0.0) -> list[list[Line]]:
    """Returns the lines in blocks. A wide gap, a column's end or another size begins a block. ``usual``: line distance,
    in points."""
    blocks = [[lines[0]]]
    for one, other in pairwise(lines):
        step, sizes = one.bottom - other.bottom, sorted((one.height, other.height))
        is_far = not 0 <= step <= APART * max(usual, sizes[1])
        is_apart = (is_far or sizes[1] > (1 + SAME_SIZE) * sizes[0]) and not one.is_beside(other)
        blocks += [[]] if is_apart else []
        blocks[-1].append(other)
    return blocks


def headings(pages: Sequence[Sequence[Line]]) -> list[list[str]]:
    """Returns the headings on each page, in order. Titles on three pages or more are running heads, and left out."""
    lines = [line for page in pages for line in page for _ in line.words]
    size = median_low([line.height for line in lines] or [0])
    weight = median_low([line.weight for line in lines] or [0])
    found = [_on_page(page, size, weight) for page in pages]
    times = Counter(title for titles in found for title in set(titles))
    return [[one for one in titles if times[one] < _TIMES] for titles in found]


def _on_page(page: Sequence[Line], size: float, weight: float) -> list[str]:
    """Returns a page's headings: titles with body text below them, and a single title at the page's end with body text
    above. ``size`` and ``weight``: the usual line height and font weight in the document."""
    found: list[str] = []
    waiting: list[str] = []
    has_text = False
    of_kind = groupby(page, key=lambda line: (_rank(line, size, weight), round(line.height / size / _ALIKE)))
    for (rank, _), some in of_kind:
        lines = list(some)
        if not rank:
            if any(len(line.text) >= _BODY for line in lines):
                found, waiting, has_text = found + waiting, [], True
        elif len(lines) <= _LINES:
            texts = [" ".join(line.text for line in block) for block in in_blocks(lines)]
            waiting += [text for text in texts if len(text) <= _LONGEST and _is_title(text, rank)]
    return found + (waiting if has_text and len(waiting) == 1 else [])


def _rank(line: Line, size: float, weight: float) -> int:
    """Returns 2 for a line larger than body text, 1 for a bolder one, and 0 for other lines and for table rows."""
    is_bold = line.weight >= _HEAVIER * weight > 0
    rank = 2 if line.height >= _LARGER * size else int(is_bold and line.height > (1 - 2 * _ALIKE) * size)
    first, *cells = fragments(line) if rank else [line]
    return 0 if cells and (len(cells) > 1 or not _NUMBER.fullmatch(first.text)) else rank


def _is_title(text: str, rank: int) -> bool:
    """Returns whether a text may be a title. If it is only bold (rank 1), it has no colon, and digits only in front."""
    own = text[_NUMBER.match(text).end() :]  # type: ignore[union-attr]
    return any(map(str.isalpha, own)) and not _NO_HEADING.search(text) and (rank > 1 or not re.search(r"[\d:]", own))
