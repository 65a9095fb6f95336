"""The text of a PDF's pages: a paragraph on one line, a table as rows of cells, without running heads and page numbers.

A line break is intended if the first word of the next line would have fitted; otherwise the paragraph continues."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import groupby, pairwise, takewhile
from statistics import median

from wim_edge.documents.pdf_lines import APART, SAME_SIZE, Line, columns_at, fragments, in_blocks, rows_of
from wim_edge.documents.pdf_tables import SPLIT, TableRows, column_of, more_rows, row_cells, table_at
from wim_edge.documents.pdf_words import BROKEN
from wim_edge.documents.rows import line_of, names_columns, table_text
from wim_edge.documents.segments import PAGE

_ITEM = re.compile(r"\s*(?:[-*•‣◦–▪]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?|\(?[a-z][.)]|\[\d+\])\s")
_AMOUNT = re.compile(r"[^\w\s]{0,2}\d[\d.,]*(?:\s?(?:[^\W\d]{1,3}|[%€$£¥]))?$")
_OF_CONTENTS = re.compile(rf"(?<!\.)(?<!\.\s)(?:\.\s?){{4,}}+\s*+(?:{_AMOUNT.pattern}|[ivxl]+\s*$)")
_NUMBER = (
    rf"[-–—|\s]*(?:(?:{PAGE}|p\.|s\.)\s*)?(?:\d{{1,4}}|[ivxlc]{{1,6}})"
    r"(?:\s*(?:/|of|von|de|sur|di)\s*\d{1,4})?[-–—|\s]*"
)
_PAGE_NUMBER, _AT_END = (re.compile(one, re.I) for one in (_NUMBER, rf"^{_NUMBER}(?!\w)|(?<!\w){_NUMBER}$"))
_HYPHEN = re.compile(r"[^\W\d_A-ZÀ-Þ]-")
_BREAK = re.compile(rf"[{BROKEN}](?: (?=\w))?")
_ENDED = re.compile(r"[.!?:。！？]['\"”’»)\]]*$")
_DIGITS, _WORD = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")
_MAY_BE_WORD = re.compile(rf"(?:[^\W\d_]++{SPLIT} )++[^\W\d_]+")
_Stretch = list[Line] | TableRows
_Key = tuple[str, int, int]
"""A possible running head: (text without the page number, that number minus the page's index, place on the page)."""
_EDGE = 2  # the lines at a page's top and bottom that may be between the parts of a table
_WORDS, _LONGEST = 4, 200
"""The fewest words beside a page number in a running head ("Delivery note no. 17" is none), and its most characters."""
_MARGIN, _LEVEL, _LARGER, _CLEAR = 0.15, 3.7, 1.2, 0.8
"""A running head is within ``_MARGIN`` of a page's height from the top or bottom, at one height (to ``_LEVEL`` points)
on all pages, under ``_LARGER`` times as large as the text, and at least ``_CLEAR`` line heights away from the text."""
_TIMES, _DENSE = 3, 0.3  # a running head is on this many pages at least, and on this share from its first to its last
_PROSE = 40  # least characters of a full line in running text; a form has shorter ones
_SHORT, _FEW, _FULL = 20, 5, 0.8  # prose has _FEW lines over _SHORT characters; a fifth of these have _PROSE
_MOST = 300  # most lines that define a page's margins; most blocks that may continue in another column
_SAME_EDGE, _INDENT = 0.15, 0.8  # the tolerance of equal edges, and the least indent; in line heights


def reflow(pages: Sequence[Sequence[Line]], ends: Sequence[tuple[float, float]] = ()) -> list[str]:
    """Returns a text per page. In prose, page numbers and repeated running heads are dropped, if ``ends``, each page's
    (bottom, top), are given. A form or a list keeps them, as any of its lines may identify the page."""
    widths = sorted(len(line.text) for page in pages for line in page if len(line.text) > _SHORT)
    is_prose = len(widths) >= _FEW and widths[int(_FULL * (len(widths) - 1))] >= _PROSE
    parts = [_stretches(page) for page in (_without_heads(pages, ends) if is_prose and ends else pages)]
    _join_tables(parts, _repeated(pages))
    return _with_whole_words([_BREAK.sub("", _text(page)) for page in parts])


def _with_whole_words(texts: list[str]) -> list[str]:
    """Returns the texts, with the words that narrow cells split made whole: those that are elsewhere in the texts, and
    whose further parts are not."""
    has_split = any(SPLIT in text for text in texts)
    others = (_MAY_BE_WORD.sub(" ", text) for text in texts if has_split)
    words = {word.casefold() for text in others for word in _WORD.findall(text)}

    def whole(found: re.Match[str]) -> str:
        parts = found[0].split(f"{SPLIT} ")
        is_word = "".join(parts).casefold() in words and words.isdisjoint(map(str.casefold, parts[1:]))
        return ("" if is_word else " ").join(parts)

    return [_MAY_BE_WORD.sub(whole, text) if SPLIT in text else text for text in texts]


def _without_heads(pages: Sequence[Sequence[Line]], ends: Sequence[tuple[float, float]]) -> list[Sequence[Line]]:
    """Returns the pages' lines without page numbers, and with each running head or foot on its first page only. A
    running head is at the same height on nearby pages, and apart from the text on most of them."""
    rows = [rows_of(line for line in sorted(page, key=lambda line: -line.top) if end[0] < line.bottom < end[1])
            for page, end in zip(pages, ends, strict=True)]  # fmt: skip
    most = _LARGER * median(line.height for page in pages for line in page)
    keys = [[*_keys(page, at, ends[at], most)] for at, page in enumerate(rows)]
    heads = _running(rows, keys)
    seen = {key for key in heads if not key[0]}  # page numbers
    kept: list[Sequence[Line]] = []
    for page, some, named in zip(pages, rows, keys, strict=True):
        found = {*_heads(named, heads)}
        again = {id(line) for at in found if not any(map(seen.isdisjoint, named[at])) for line in some[at]}
        seen.update(key for at in found for part in named[at] for key in part if key in heads)
        kept.append([line for line in page if id(line) not in again] or page)
    return kept


def _running(rows: Sequence[Sequence[list[Line]]], keys: Sequence[Sequence[Sequence[Sequence[_Key]]]]) -> set[_Key]:
    """Returns the keys of running heads. ``rows``: the rows of each page; ``keys``: the keys of each row's parts."""
    on: dict[_Key, list[int]] = defaultdict(list)
    for page, named in enumerate(keys):
        for key in {key for row in named for part in row for key in part}:
            on[key].append(page)
    enough = {key for key, found in on.items() if len(found) >= (_TIMES if key[0] else 2)}
    near = {key for key in enough if len(on[key]) > _DENSE * (on[key][-1] - on[key][0])}
    apart: Counter[_Key] = Counter()
    for some, named in zip(rows, keys, strict=True):
        if found := {*_heads(named, near)}:
            apart.update(key for at in _apart(some, found) for part in named[at] for key in part)
    return {key for key in near if 2 * apart[key] > len(on[key])}


def _heads(keys: Sequence[Sequence[Sequence[_Key]]], heads: Set[_Key]) -> Iterator[int]:
    """Yields the indices of a page's rows of which every part has a key in ``heads``."""
    return (at for at, row in enumerate(keys) if row and not any(map(heads.isdisjoint, row)))


def _keys(rows: Iterable[list[Line]], page: int, ends: tuple[float, float], most: float) -> Iterator[list[list[_Key]]]:
    """Yields for each row the keys of its parts. Rows with equal keys on several pages may be running heads. A row has
    no keys if it is ``most`` points high or more, or far from the page's ``ends``, its bottom and top."""
    reach = _MARGIN * (ends[1] - ends[0])
    for row in rows:
        end = ends[ends[1] - row[0].bottom < reach]
        is_near = abs(row[0].top - end) < reach and not any(line.is_whole or line.height >= most for line in row)
        parts = [part for line in row for part in fragments(line)] if is_near else []
        height = round((end - row[0].bottom) / _LEVEL)
        yield [[(*name, height) for name in {*_names(part.text, page)}] for part in parts]


def _names(text: str, page: int) -> Iterator[tuple[str, int]]:
    """Yields (text, 0). If the text begins or ends with a likely page number, also yields (the rest, number minus
    ``page``). A number is likely if it stands alone or beside at least four words, or is marked: "page 2", "2/3"."""
    yield text, 0
    has_digits = _DIGITS.search(text) is not None
    if not has_digits and _PAGE_NUMBER.fullmatch(text):
        yield "", 0
    for one in _AT_END.finditer(text) if has_digits and len(text) <= _LONGEST else ():
        rest, number = text[: one.start()] + text[one.end() :], _DIGITS.search(one[0])
        if number and (len(rest.split()) >= _WORDS or not rest or number[0] != one[0].strip("-–—| ")):
            yield rest, int(number[0]) - page


def _apart(rows: Sequence[Sequence[Line]], heads: Set[int]) -> Sequence[int]:
    """Returns the indices of rows in ``heads`` that begin or end a page, and are unusually far from the text."""
    gaps = [min(one.bottom for one in row) - max(one.top for one in below) for row, below in pairwise(rows)]
    least = _CLEAR * median([line.height for row in rows for line in row] or [0])
    usual = [gap for at, gap in enumerate(gaps) if 2 * gap > least and heads.isdisjoint((at, at + 1))]
    breaks = [at for at, gap in enumerate(gaps, 1) if gap > max(least, 1.1 * median(usual or [0]))]
    first = next((at for at in range(len(rows)) if at not in heads), 0)
    last = next((at for at in range(len(rows), 0, -1) if at - 1 not in heads), len(rows))
    top = max((at for at in breaks if at <= first), default=0)
    return [*range(top), *range(min((at for at in breaks if at >= last), default=len(rows)), len(rows))]


def _repeated(pages: Sequence[Sequence[Line]]) -> set[int]:
    """Returns the ids of top and bottom lines that are page numbers, or the same on two pages but for a number."""
    edges = {id(line): re.sub(rf"(?<!\d){at}(?!\d)", "#", line.text, count=1) for at, page in enumerate(pages, 1)
             for line in (*page[:_EDGE], *page[-_EDGE:])}  # fmt: skip
    times = Counter(edges.values())
    return {line for line, text in edges.items() if times[text] > 1 or _PAGE_NUMBER.fullmatch(text.replace("#", "1"))}


def _stretches(page: Sequence[Line]) -> list[_Stretch]:
    """Returns a page divided into stretches, in order: its tables, and lists of the lines between them."""
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
            if (columns := columns_at(cells, at, n_tried)) is not None:
                lines += columns[1]
                at = columns[0]
            elif (table := table_at(cells, at, n_tried)) is not None:
                found += [lines, table]
                lines, at = [], table.end
            else:
                n_tried += len(cells[at]) > 1
                lines += sorted(rows[at], key=lambda line: line.left)
                at += 1
        found.append(lines)
    return [one for one in found if one]


def _text(page: Sequence[_Stretch]) -> str:
    """Returns a page's text. The rest of a table from the previous page begins with a line feed."""
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


def _join_tables(pages: Sequence[list[_Stretch]], heads: Container[int]) -> None:
    """Joins, in place, the tables that page breaks divide: drops the repeated header, moves running heads out of the
    table, and joins a divided row. ``heads``: the ids of lines that may be running heads."""
    for page, following in pairwise(pages):
        tables = [at for at, one in enumerate(page) if isinstance(one, TableRows)]
        table = page[tables[-1]] if tables else None
        if not isinstance(table, TableRows) or not following:
            continue
        after = [line for one in page[tables[-1] + 1 :] if not isinstance(one, TableRows) for line in one]
        feet = {id(line) for line in after if id(line) in heads and table.bottom - line.top >= APART * line.height}
        below = [line for line in after if id(line) not in feet]
        columns = [column_of(line, table.columns) for line in below]
        rest = _rest(following, table, heads)
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
        page[tables[-1] :] = [[line for line in after if id(line) in feet], table]
        at = following.index(rest)
        following[: at + 1] = [replace(rest, cells=rows, header=header), *following[:at]]


def _rest(page: list[_Stretch], table: TableRows, heads: Container[int]) -> TableRows | None:
    """Returns the table at the top of ``page``, below running heads, if it has the columns of ``table``; else None.
    Lines there that fill these columns are first made a table, in place."""
    above = [] if isinstance(page[0], TableRows) else [*takewhile(lambda line: id(line) in heads, page[0])]
    first = page[1] if above and len(page) > 1 and len(above) == len(page[0]) else page[0]  # type: ignore[arg-type]
    if isinstance(first, TableRows):
        is_apart = not above or above[-1].bottom - first.top >= APART * above[-1].height
        pairs = zip(first.columns, table.columns, strict=False)
        are_alike = all(min(one[1], other[1]) > max(one[0], other[0]) for one, other in pairs)
        return first if is_apart and are_alike and len(first.columns) == len(table.columns) else None
    for start in (0, len(above)):
        rows, n_lines = more_rows(first[start:], table)
        if rows:
            made = TableRows(0, rows, table.columns, first[start].top, first[start + n_lines - 1].bottom)
            page[0:1] = [above[:start], made, first[start + n_lines :]]
            return made
    return None


def _paragraphs(lines: Sequence[Line], page: Sequence[Line]) -> list[str]:
    """Returns the paragraphs that ``lines`` make up. ``page``: the page's lines of prose, which show its margins."""
    steps = [one.bottom - other.bottom for one, other in pairwise(lines)]
    usual = median([step for step in steps if step > 0] or [lines[0].height])
    made: list[str] = []
    unfinished: list[tuple[int, list[Line]]] = []
    for block in in_blocks(lines, usual):
        margin, is_sure = _margin(block, page)
        said = [block[0].text]
        for one, other in pairwise(block):
            if one.is_beside(other) or _goes_on(one, other, margin, is_sure):
                said[-1] = _join(said[-1], other.text)
            else:
                said[-1:] = [said[-1].rstrip(BROKEN), other.text]
        text = "\n".join(said)
        before = [part for part in unfinished[-_MOST:] if _is_column_before(part[1], block)]
        if before and text[:1].islower():
            at, _ = max(before, key=lambda part: (made[part[0]][-1] in BROKEN, len(part[1]), part[0]))
            made[at] = _join(made[at], text)
            unfinished = [part for part in unfinished if part[0] != at]
        else:
            at = len(made)
            made.append(text)
        last = block[-1]
        is_full = last.right > margin - 2 * last.height and not _PAGE_NUMBER.fullmatch(last.text)
        if is_full and not _ENDED.search(last.text):
            unfinished.append((at, block))
    return [text.rstrip(BROKEN) or text for text in made]


def _is_column_before(block: Sequence[Line], other: Sequence[Line]) -> bool:
    """Returns whether ``block`` may continue in ``other``: it ends lower and to its left, in letters of equal size."""
    last, first = block[-1], other[0]
    sizes = sorted((last.height, first.height))
    return last.bottom < first.bottom and last.right < first.left and sizes[1] <= (1 + SAME_SIZE) * sizes[0]


def _margin(block: Sequence[Line], page: Sequence[Line]) -> tuple[float, bool]:
    """Returns a block's right margin, and whether it is certain. The margin is certain if several lines of the block,
    or else of its column on the page, end there. Otherwise it is where the longest line ends."""
    if len(block) > 2 and (edge := _edge(block, 2)) is not None:
        return edge, True
    left, right = min(line.left for line in block), max(line.right for line in block)
    column = [line for line in page if line.left < right and line.right > left] or block
    edge = _edge(column, 3)
    return max(right, edge or max(line.right for line in column)), edge is not None


def _edge(lines: Sequence[Line], least: int) -> float | None:
    """Returns the rightmost x at which ``least`` lines end, or None. Single lines may end a little farther right."""
    ends = sorted((line.right for line in lines), reverse=True)
    height = lines[0].height
    near = (
        one for one, other in zip(ends, ends[least - 1 :], strict=False)
        if one - other < _SAME_EDGE * height and ends[0] - one < height
    )  # fmt: skip
    return next(near, None)


def _join(text: str, more: str) -> str:
    if text.endswith(tuple(BROKEN)):
        return text[:-1] + more
    return text + more if _HYPHEN.fullmatch(text[-2:]) and more[:1].islower() else f"{text} {more}"


def _goes_on(line: Line, following: Line, margin: float, is_sure: bool) -> bool:
    if line.text.endswith(tuple(BROKEN)):
        return True
    if _ITEM.match(following.text) or _is_row(line) or _is_row(following):
        return False
    if following.left > line.left + _INDENT * line.height and not _ITEM.match(line.text) and _ENDED.search(line.text):
        return False
    is_long = len(line.text) >= _PROSE or (is_sure and line.right > margin - _SAME_EDGE * line.height)
    word = following.words[0]
    return is_long and line.right + 0.2 * line.height + word.right - word.left > margin


def _is_row(line: Line) -> bool:
    """Returns whether a line belongs to a table, a menu or a bill, or at least half of its words have a digit."""
    words = line.text.split()
    figures = sum(_DIGITS.search(word) is not None for word in words) if _DIGITS.search(line.text) else 0
    if _OF_CONTENTS.search(line.text) or (len(words) > 2 and 2 * figures >= len(words)):
        return True
    is_number = _PAGE_NUMBER.fullmatch(words[-1]) is not None
    parts = fragments(line) if is_number or (figures and _AMOUNT.search(line.text)) else [line]
    return len(parts) > 1 and (is_number or _AMOUNT.fullmatch(parts[-1].text) is not None)
