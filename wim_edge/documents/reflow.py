"""The text of a PDF's pages as intended: a paragraph on one line, a table as rows of cells, and no running heads or
page numbers in between.

The author of the page decided where its lines end. If the next line's first word would have fitted on a line, the break
was intended; otherwise the paragraph continues.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, takewhile
from statistics import median

from wim_edge.documents.pdf_lines import Line, fragments, rows_of
from wim_edge.documents.pdf_tables import TableRows, are_alike, column_of, more_rows, row_cells, table_at
from wim_edge.documents.pdf_words import BROKEN
from wim_edge.documents.rows import line_of, names_columns, table_text
from wim_edge.documents.segments import PAGE

_ITEM = re.compile(r"\s*(?:[-*•‣◦–▪]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?|\(?[a-z][.)]|\[\d+\])\s")
_OF_CONTENTS = re.compile(r"(?<!\.)(?<!\.\s)(?:\.\s?){4,}+\s*+(?:\d+|[ivxl]+)\s*$")
_PAGE_NUMBER = re.compile(
    rf"[-–—|\s]*(?:(?:{PAGE}|p\.|s\.)\s*)?(?:\d{{1,4}}|[ivxlc]{{1,6}})"
    r"(?:\s*(?:/|of|von|de|sur|di)\s*\d{1,4})?[-–—|\s]*", re.IGNORECASE,
)  # fmt: skip
_HYPHEN = re.compile(r"[^\W\d_A-ZÀ-Þ]-")
_ENDED = re.compile(r"[.!?:。！？]['\"”’»)\]]*$")
_DIGITS = re.compile(r"\d+")
_Stretch = list[Line] | TableRows
_EDGE = 2  # the lines at a page's top and bottom that may be running heads
_WORDS = 4  # least words beside a page number: "Delivery note no. 17" may identify a page
_TIMES = 3  # a line at the edge of this many pages is a running head
_PROSE = 40  # least characters of a full line in running text; a form has shorter ones
_SHORT, _FEW, _FULL = 20, 5, 0.8  # prose has _FEW lines over _SHORT characters; a fifth of these have _PROSE
_MOST = 300  # most lines that define a page's margins; most blocks that may continue in another column
_SAME_SIZE, _SAME_EDGE, _INDENT, _APART = 0.15, 0.15, 0.8, 1.35  # equal size or edge, indent, new block; relative


def reflow(pages: Sequence[Sequence[Line]]) -> list[str]:
    """Returns the pages' texts. In prose, repeated running heads and page numbers are dropped. A form or a list keeps
    them, as any of its lines may identify the page."""
    widths = sorted(len(line.text) for page in pages for line in page if len(line.text) > _SHORT)
    is_prose = len(widths) >= _FEW and widths[int(_FULL * (len(widths) - 1))] >= _PROSE
    parts = [_stretches(page) for page in (_without_heads(pages) if is_prose else pages)]
    _join_tables(parts, Counter(_DIGITS.sub("#", page[at].text) for page in pages for at in _edges(page)))
    return [_text(page) for page in parts]


def _without_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    edges = [_edges(page) for page in pages]
    heads = [{number: _head(page[number].text, at) for number in edges[at]} for at, page in enumerate(pages)]
    times = Counter(head for page in heads for head in set(page.values()))
    seen: set[str | tuple[str, int]] = set()
    kept = []
    for page, edge, named in zip(pages, edges, heads, strict=True):
        dropped = {number for number, head in named.items() if head in seen or _is_number(page, number, edge)}
        seen.update(head for head in named.values() if times[head] >= _TIMES)
        kept.append([line for number, line in enumerate(page) if number not in dropped])
    return kept


def _head(line: str, page: int) -> str | tuple[str, int]:
    """Returns the key that identifies a line as a running head on other pages: its text. If the line begins or ends
    with a page number and has four other words, the key is (those words, that number minus ``page``)."""
    words = line.split()
    for at in (-1, 0):
        if len(words) > _WORDS and re.fullmatch(r"\d{1,4}", words[at]):
            return " ".join(words[:-1] if at else words[1:]), int(words[at]) - page
    return " ".join(words)


def _edges(page: Sequence[Line]) -> list[int]:
    """Returns the indices of the lines at a page's top and bottom: two at each, or one on a page with few lines."""
    reach = _EDGE if len(page) > 4 * _EDGE else 1
    numbers = range(len(page))
    return sorted({*numbers[:reach], *numbers[-reach:]})


def _is_number(page: Sequence[Line], number: int, edges: list[int]) -> bool:
    """Returns whether the line at index ``number`` is the first or last of several, and a page number."""
    is_edge = number in (edges[0], edges[-1]) and len(edges) > 1
    return is_edge and _PAGE_NUMBER.fullmatch(page[number].text) is not None


def _stretches(page: Sequence[Line]) -> list[_Stretch]:
    """Returns the page's stretches, in order: its tables, and lists of the lines between them."""
    found: list[_Stretch] = []
    for are_whole, some in groupby(page, key=lambda line: line.is_whole):
        if are_whole:
            found.append(list(some))
            continue
        rows = rows_of(some)
        cells = [row_cells(row) for row in rows]
        lines: list[Line] = []
        at = n_tried = 0
        while at < len(rows):
            if (table := table_at(cells, at, n_tried)) is not None:
                found += [lines, table]
                lines, at = [], table.end
            else:
                n_tried += len(cells[at]) > 1
                lines += sorted(rows[at], key=lambda line: line.left)
                at += 1
        found.append(lines)
    return [one for one in found if one]


def _text(page: Sequence[_Stretch]) -> str:
    """Returns the page's paragraphs and tables, separated by blank lines. The rest of a table from the page before
    begins with a line feed."""
    prose = [line for one in page if not isinstance(one, TableRows) for line in one if not line.is_whole][:_MOST]
    texts: list[str] = []
    for one in page:
        if isinstance(one, TableRows):
            rest = "".join(f"\n{line_of(cells)}" for cells in one.cells)
            texts += table_text(one.cells) if one.header is None else [rest] if rest else []
        elif one and one[0].is_whole:
            texts.append("\n".join(line.text for line in one))
        elif one:
            texts += _paragraphs(one, prose)
    return "\n\n".join(texts)


def _join_tables(pages: Sequence[list[_Stretch]], edges: Counter[str]) -> None:
    """Joins the tables that page breaks separate, in place: drops the repeated header and running heads, and joins a
    split row. ``edges``: how often each line, with "#" for its digits, is at the edge of a page."""

    def is_head(line: Line, table: TableRows | None = None) -> bool:
        if table is not None and table.bottom - line.top < _APART * line.height:
            return False
        return _PAGE_NUMBER.fullmatch(line.text) is not None or edges[_DIGITS.sub("#", line.text)] > 1

    for page, following in pairwise(pages):
        tables = [at for at, one in enumerate(page) if isinstance(one, TableRows)]
        table = page[tables[-1]] if tables else None
        if not isinstance(table, TableRows) or not following:
            continue
        below = [line for one in page[tables[-1] + 1 :] if not isinstance(one, TableRows)
                 for line in one if not is_head(line, table)]  # fmt: skip
        columns = [column_of(line, table.columns) for line in below]
        rest = _rest(following, table, is_head)
        if rest is None or None in columns:
            continue
        header = table.header or table.cells
        n_again = next((n for n, (one, other) in enumerate(zip(rest.cells, header, strict=False)) if one != other), 0)
        rows = [[*row] for row in rest.cells[n_again:]]
        is_other = rest.is_headed or (not table.is_headed and names_columns(rows))
        if not rows or (not n_again and is_other) or (below and rows[0][columns[0] or 0][:1].isupper()):
            continue
        for line, column in reversed([*zip(below, columns, strict=True)]):
            rows[0][column or 0] = f"{line.text} {rows[0][column or 0]}".strip()
        if not below and not all(rows[0]) and not any(cell[:1].isupper() or cell[:1].isdigit() for cell in rows[0]):
            row = rows.pop(0)
            table.cells[-1] = [f"{one} {other}".strip() for one, other in zip(table.cells[-1], row, strict=True)]
        page[tables[-1] + 1 :] = []
        following[: following.index(rest) + 1] = [replace(rest, cells=rows, header=header)]


def _rest(page: list[_Stretch], table: TableRows, is_head: Callable[[Line], bool]) -> TableRows | None:
    """Returns the table at the top of a page, below running heads; None unless it has the columns of ``table``. If its
    rows are still lines, they become a table in ``page``."""
    above = [] if isinstance(page[0], TableRows) else [*takewhile(is_head, page[0])]
    first = page[1] if above and len(page) > 1 and len(above) == len(page[0]) else page[0]  # type: ignore[arg-type]
    if isinstance(first, TableRows):
        return first if are_alike(first.columns, table.columns) else None
    for start in (0, len(above)):
        rows, n_lines = more_rows(first[start:], table)
        if rows:
            made = TableRows(0, rows, table.columns, first[start + n_lines - 1].bottom)
            page[0:1] = [made, first[start + n_lines :]]
            return made
    return None


def _paragraphs(lines: Sequence[Line], page: Sequence[Line]) -> list[str]:
    """Returns the paragraphs of some lines. ``page``: the page's lines of prose, which show its margins."""
    steps = [one.bottom - other.bottom for one, other in pairwise(lines)]
    usual = median([step for step in steps if step > 0] or [lines[0].height])
    blocks: list[list[Line]] = [[lines[0]]]
    for step, one, other in zip(steps, lines, lines[1:], strict=False):
        if _is_apart(one, other, step, usual):
            blocks.append([])
        blocks[-1].append(other)
    made: list[str] = []
    unfinished: list[tuple[int, list[Line]]] = []
    for block in blocks:
        margin, is_sure = _margin(block, page)
        text = _joined(block, margin, is_sure)
        before = [one for one in unfinished[-_MOST:] if _is_column_before(one[1], block)]
        if before and text[:1].islower():
            at, _ = max(before, key=lambda one: (made[one[0]][-1] in BROKEN, len(one[1]), one[0]))
            made[at] = _join(made[at], text)
            unfinished = [one for one in unfinished if one[0] != at]
        else:
            at = len(made)
            made.append(text)
        last = block[-1]
        is_full = last.right > margin - 2 * last.height and not _PAGE_NUMBER.fullmatch(last.text)
        if is_full and not _ENDED.search(last.text):
            unfinished.append((at, block))
    return [text.rstrip(BROKEN) or text for text in made]


def _is_column_before(block: Sequence[Line], other: Sequence[Line]) -> bool:
    """Returns whether ``block`` may continue in ``other``: it ends lower and to the left, in letters of equal size."""
    last, first = block[-1], other[0]
    sizes = sorted((last.height, first.height))
    return last.bottom < first.bottom and last.right < first.left and sizes[1] <= (1 + _SAME_SIZE) * sizes[0]


def _is_apart(one: Line, other: Line, step: float, usual: float) -> bool:
    """Returns whether two lines are in different blocks: far apart, in two columns, or of two sizes."""
    if one.is_beside(other):
        return False
    sizes = sorted((one.height, other.height))
    return step < 0 or step > _APART * max(usual, sizes[1]) or sizes[1] > (1 + _SAME_SIZE) * sizes[0]


def _margin(block: Sequence[Line], page: Sequence[Line]) -> tuple[float, bool]:
    """Returns a block's right margin, and whether it is certain. It is certain if several lines end there, of the block
    or else of its column on the page. Otherwise it is where the longest line ends."""
    if len(block) > 2 and (edge := _edge(block, 2)) is not None:
        return edge, True
    left, right = min(line.left for line in block), max(line.right for line in block)
    column = [line for line in page if line.left < right and line.right > left] or block
    edge = _edge(column, 3)
    return max(right, edge or max(line.right for line in column)), edge is not None


def _edge(lines: Sequence[Line], least: int) -> float | None:
    """Returns the rightmost place at which ``least`` lines end, or None; single lines may be slightly longer."""
    ends = sorted((line.right for line in lines), reverse=True)
    height = lines[0].height
    near = (
        one for one, other in zip(ends, ends[least - 1 :], strict=False)
        if one - other < _SAME_EDGE * height and ends[0] - one < height
    )  # fmt: skip
    return next(near, None)


def _joined(block: Sequence[Line], margin: float, is_sure: bool) -> str:
    lines = [block[0].text]
    for one, other in pairwise(block):
        if one.is_beside(other) or _goes_on(one, other, margin, is_sure):
            lines[-1] = _join(lines[-1], other.text)
        else:
            lines[-1] = lines[-1].rstrip(BROKEN)
            lines.append(other.text)
    return "\n".join(lines)


def _join(text: str, more: str) -> str:
    if text.endswith(tuple(BROKEN)):
        return text[:-1] + more
    return text + more if _HYPHEN.fullmatch(text[-2:]) and more[:1].islower() else f"{text} {more}"


def _goes_on(line: Line, following: Line, margin: float, is_sure: bool) -> bool:
    if line.text.endswith(tuple(BROKEN)):
        return True
    if _ITEM.match(following.text) or _is_row(line) or _is_row(following):
        return False
    starts = following.left > line.left + _INDENT * line.height and not _ITEM.match(line.text)
    if starts and _ENDED.search(line.text):
        return False
    is_long = len(line.text) >= _PROSE or (is_sure and line.right > margin - _SAME_EDGE * line.height)
    word = following.words[0]
    return is_long and line.right + 0.2 * line.height + word.right - word.left > margin


def _is_row(line: Line) -> bool:
    """Returns whether a line belongs to a table of contents, or to a table: at least half of its words have a digit."""
    words = line.text.split()
    figures = sum(_DIGITS.search(word) is not None for word in words)
    if _OF_CONTENTS.search(line.text) or (len(words) > 2 and 2 * figures >= len(words)):
        return True
    return _PAGE_NUMBER.fullmatch(words[-1]) is not None and len(fragments(line)) > 1
