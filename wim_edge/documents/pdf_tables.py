"""The tables of a PDF page, recognised only by the places of its words: rows whose gaps line up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations, groupby, pairwise, takewhile
from math import inf
from statistics import median, multimode

from wim_edge.documents.pdf_lines import CLOSE, LOWER, RUNNING, Line, fragments, gap, most_rows, overlap, rows_of, union

_MARK = re.compile(r"[-*•‣◦–▪·]|\(?(?:\d{1,3}|[ivxl]{1,5}|[A-Za-z])[.)]|\[\d+\]|\d{1,3}(?:\.\d{1,3})+|\d{1,4}")
_LEADERS = re.compile(r"(?:\.\s?){4,}")
_NUMBER = re.compile(r"\d{1,4}|[ivxlc]{1,6}")
_VALUE = re.compile(r"[^\w\s]{0,2}\d")
_SINGLE = 4
"""The most successive rows with one cell in a table: each continues a cell, or is the title of the rows below."""
_WIDEST = 200  # most columns of a table
_APART = 2.5  # widest gap between two rows, in line heights
_PARTED, _LARGER = 0.25, 1.1  # least extra gap between rows, size of a heading
_CENTRED = 0.3  # least overlap of the rows of a cell's lines and of cells that are centred beside them, in heights
_LONG = 60  # a row's only cell with this many characters is a paragraph, and not part of the table
_TITLE = 45
"""The most characters of a row's only cell that is the title of the rows below, and so may cross several columns."""
_FILLED = 0.55  # least share of a table's cells that are not empty
SPLIT = "\ue01a"
"""The mark between a line of one word that fills its column and the cell's next line: the word may go on there."""
_NO_SPLIT = re.compile(rf"{SPLIT}(?! [^\W\d_A-ZÀ-Þ])")
_ROOM, _MANY = 0.45, 5  # least gap between columns, in line heights; in more columns, single words are a paragraph
_LEVELS, _SPREAD = 3, 12  # the most lines of a header, and columns below its upper lines
_STEP = 0.1  # least extra distance of the lines of two cells, in line heights
_LOOSE = 0.4  # least gap between words of two columns, in line heights


@dataclass(frozen=True)
class TableRows:
    """A table. ``end``: index after its last row; ``cells``: texts by row; ``columns``: each column's (left, right)."""

    end: int
    cells: list[list[str]]
    columns: list[tuple[float, float]]
    top: float
    bottom: float
    header: list[list[str]] | None = None
    """The rows of the table on the page where it began; None if it begins on this page."""
    is_headed: bool = False
    """True if the first row's letters are heavier than the second's."""


def table_at(rows: Sequence[Sequence[Line]], start: int, n_tried: int = 0) -> TableRows | None:
    """Returns the table that begins at ``rows[start]``, or None. ``n_tried``: how many rows above began no table."""
    if not 1 < len(rows[start]) <= _WIDEST:
        return None
    end = _end(rows[: start + most_rows(n_tried)], start)
    # Blocks side by side, such as two addresses, may be above a table of other columns
    apart = next((at for at in range(start + 2, end) if gap(rows[at - 1], rows[at]) > 1), start)
    is_parted = start < apart and len(rows[start]) <= _MANY
    return _table(rows, start, end) or (_table(rows, start, apart) if is_parted else None)


def _table(rows: Sequence[Sequence[Line]], start: int, end: int) -> TableRows | None:
    columns = _columns(rows[start:end])
    usual = max(multimode(len(row) for row in rows[start:end] if len(row) > 1))
    # A paragraph across columns ends the table
    over = (
        at for at in range(start, end)
        if len(rows[at]) == 1 and sum(overlap(rows[at][0], one) > 0 for one in columns) > 1
        and not (start < at < end - 1 and _names_rows(rows[at], rows[at + 1], usual))
    )  # fmt: skip
    end = next(over, end)
    table = rows[start:end]
    columns = _columns(table)
    # There is room between columns, but not between wide blanks that line up by chance
    room = _ROOM * median(cell.height for row in table for cell in row)
    if len(columns) < 2 or any(right[0] - left[1] < room for left, right in pairwise(columns)):
        return None
    placed = [_in_columns(row, columns) for row in table]
    if len(placed) > 3 and not any(one and (above or below) for above, one, below in zip(*placed[:3], strict=True)):
        placed[:2] = [[one or other for one, other in zip(*placed[:2], strict=True)]]  # labels between two lines
        table = [[*table[0], *table[1]], *table[2:]]
    upper = [_spread(row, below, columns) for row, below in pairwise(placed[:_LEVELS])]
    upper = [*takewhile(bool, upper)]
    rest = placed[len(upper) :]
    rows_of_cells = _wrapped(rest, columns) or _merged([*zip(map(_texts, rest), table[len(upper) :], strict=True)])
    cells = [[_NO_SPLIT.sub("", cell) for cell in row] for row in [*map(_texts, upper), *rows_of_cells]]
    if not _is_filled(cells) or _is_list(cells):
        return None
    weight, below = (min([cell.weight for cell in row]) for row in table[:2])
    top, bottom = max(cell.top for cell in table[0]), min(cell.bottom for cell in table[-1])
    return TableRows(end, cells, columns, top, bottom, is_headed=weight > below)


def _is_filled(cells: Sequence[Sequence[str]]) -> bool:
    """Returns whether enough cells are filled for a table. Gaps in a paragraph or a formula line up only by chance."""
    rows = [row for row in cells if sum(map(bool, row)) > 1]
    if len(rows) < 3:
        is_whole = len(rows) == 2 and len(rows[0]) > 2 and all(map(all, rows))
        return is_whole and any(" " in cell for row in rows for cell in row)
    n_filled = sum(map(bool, (cell for row in rows for cell in row)))
    return 2 * len(rows) >= len(cells) and n_filled >= _FILLED * len(rows) * len(rows[0])


def _names_rows(row: Sequence[Line], below: Sequence[Line], usual: int) -> bool:
    """Returns whether ``row``, a short cell, is the title of the rows below: the next one is full and begins there."""
    begins_there = abs(row[0].left - min(cell.left for cell in below)) < row[0].height
    return len(row[0].text) <= _TITLE and len(below) == usual and begins_there


def _end(rows: Sequence[Sequence[Line]], start: int) -> int:
    """Returns the index after the last row of the table that begins with ``rows[start]``."""
    end, at = start + 1, start + 1
    left = min(cell.left for cell in rows[start])
    while at < len(rows) and at - end <= _SINGLE and len(rows[at]) <= _WIDEST and _follows(rows[at - 1], rows[at]):
        if len(rows[at]) > 1:
            end = at + 1
        elif len(rows[at][0].text) >= _LONG or (
            rows[at][0].left <= left - rows[at][0].height / 2 and _stands_above(rows[at][0], rows[start:at])
            and not _begins_cell(rows[start], rows[at : at + 2])
        ):  # fmt: skip
            break
        left = min(left, *(cell.left for cell in rows[at]))
        at += 1
    while end < at and end < len(rows) and _is_rest(rows[end - 1], rows[end]):  # continues the last row's cell
        end += 1
    return end


def _stands_above(line: Line, table: Sequence[Sequence[Line]]) -> bool:
    """Returns whether ``line``, below a table, is the next heading: larger than the table's rows, or farther off."""
    usual = median([0.0, *(gap(above, below) for above, below in pairwise(table))])
    heights = median(cell.height for row in table for cell in row)
    return gap(table[-1], [line]) > usual + CLOSE or line.height > _LARGER * heights


def _begins_cell(header: Sequence[Line], rows: Sequence[Sequence[Line]]) -> bool:
    """Returns whether ``rows[0]`` is the first line of a cell that continues in ``rows[1]``, beside other cells."""
    _, below = (*rows, ())[:2]
    return len(below) == len(header) and below[0].text[:1].islower() and gap(*rows) < CLOSE


def _follows(row: Sequence[Line], other: Sequence[Line]) -> bool:
    space = min(one.bottom for one in row) - max(one.top for one in other)
    height = max(one.height for one in (*row, *other))
    return -_LARGER * height < space < _APART * height


def _is_rest(row: Sequence[Line], other: Sequence[Line]) -> bool:
    """Returns whether ``other``, a row of one cell, continues a cell of ``row`` (the first in lower case, or if no rule
    is between them)."""
    space = min(one.bottom for one in row) - other[0].top
    is_open = other[0].text[:1].islower() or 0 < other[0].band == row[0].band
    behind = sorted(row, key=lambda one: one.left)[len(row) > 1 and not is_open :]
    is_below = any(abs(one.left - other[0].left) < other[0].height / 2 for one in behind)
    return len(other) == 1 and ((is_below and space < CLOSE * other[0].height) or _overlap_rows(row, other))


def _columns(table: Sequence[Sequence[Line]]) -> list[tuple[float, float]]:
    """Returns (left, right) of each column of a table, mainly from the rows with its usual number of cells."""
    rows = [row for row in table if len(row) > 1]
    usual = max(multimode(map(len, rows)))
    spans = [(cell.left, cell.right) for row in rows if len(row) == usual for cell in row]
    # A header may reach over the gap beside its column, so the cells' indices define the columns
    columns = [
        (min(left for left, _ in spans[at::usual]), max(right for _, right in spans[at::usual])) for at in range(usual)
    ]
    if any(left[1] > right[0] for left, right in pairwise(columns)):
        columns = union(sorted(spans))
    apart = union(sorted((cell.left, cell.right) for row in rows for cell in row))
    is_filled = any(len(row) == len(apart) and min(map(overlap, row, apart)) > 0 for row in rows)
    if is_filled and len(apart) > len(columns):  # most rows leave a column empty: "Paid out" or "Paid in"
        return apart
    # The first row's labels may be between the columns over which they are centred
    others = [cell for row in rows[len(rows[0]) < len(rows[:2][-1]) :] if len(row) != usual for cell in row]
    alone = [(one.left, one.right) for one in others if not any(overlap(one, column) > 0 for column in columns)]
    return union(sorted([*columns, *alone]))


def _in_columns(row: Sequence[Line], columns: Sequence[tuple[float, float]]) -> list[list[Line]]:
    """Returns the parts of a row's cells by column. A line of one word that fills its column ends with `SPLIT`."""
    placed: list[list[Line]] = [[] for _ in columns]
    for part in (part for cell in row for part in _split(cell, columns)):
        over = [overlap(part, column) for column in columns]
        # A cell across several columns belongs to the first
        touched = next((at for at, shared in enumerate(over) if shared > 0), over.index(max(over)))
        is_full = part.text.isalpha() and part.right > columns[touched][1] - _LOOSE * part.height
        placed[touched].append(part._replace(text=part.text + SPLIT) if is_full else part)
    return placed


def _spread(
    row: list[list[Line]], below: list[list[Line]], columns: Sequence[tuple[float, float]]
) -> list[list[Line]]:
    """Returns an upper line of a header, each label in the first of the columns that it is above: it begins with them,
    or is centred over them. Returns [] if there is no way to have labels above several of the line ``below``."""
    labels, first, end = [*chain(*row)], int(not row[0]), len(columns)
    if (row[0] and below[0]) or not 0 < len(labels) < end - first <= _SPREAD:
        return []
    edges = ([column, *((one.left, one.right) for one in parts)] for column, parts in zip(columns, below, strict=True))
    columns = [(min(left for left, _ in some), max(right for _, right in some)) for some in edges]
    best: tuple[float, Sequence[int]] = inf, ()
    for cuts in combinations(range(first + 1, end), len(labels) - 1):
        error = 0.0
        for one, at, after in zip(labels, (first, *cuts), (*cuts, end), strict=True):
            left, right = columns[at][0], columns[after - 1][1]
            is_in = left - one.height < one.left and one.right < right + one.height and all(below[at:after])
            is_above = is_in if after - at > 1 else overlap(one, columns[at]) > 0 and not below[at]
            error += min(abs(one.left + one.right - left - right), 2 * abs(one.left - left)) if is_above else inf
        best = min(best, (error, (first, *cuts)))
    return [[labels[best[1].index(at)]] if at in best[1] else [] for at in range(end)] if best[1] else []


def _texts(row: Sequence[Sequence[Line]]) -> list[str]:
    return [" ".join(part.text for part in parts) for parts in row]


def _wrapped(rows: Sequence[list[list[Line]]], columns: Sequence[tuple[float, float]]) -> list[list[str]]:
    """Returns the rows' cells if the distances of lines show which belong to one cell: the lines of a cell run on, to
    the column's edge, and are closer than those of two cells. Returns [] if they do not, and if rules part the rows."""
    by_column = [sorted(chain(*parts), key=lambda one: -one.bottom) for parts in zip(*rows, strict=True)]
    steps = [one.bottom - other.bottom for parts in by_column for one, other in pairwise(parts)]
    height = median(part.height for parts in by_column for part in parts)
    most = min((step for step in steps if step > height / 2), default=0.0) + _STEP * height
    blocks: list[tuple[int, list[Line]]] = []  # each cell, with its column
    for at, parts in enumerate(by_column):
        for number, part in enumerate(parts):
            blocks += [(at, [])] if not number or parts[number - 1].bottom - part.bottom > most else []
            blocks[-1][1].append(part)
    pairs = [(columns[at][1], *pair) for at, block in blocks for pair in pairwise(block)]
    n_full = sum(one.right + other.words[0].right - other.words[0].left > edge for edge, one, other in pairs)
    n_lower = sum(other.text[:1].islower() for _, _, other in pairs)
    has_values = any(_VALUE.match(one.text) and _VALUE.match(other.text) for _, one, other in pairs)
    if has_values or not pairs or n_full < RUNNING * len(pairs) or n_lower < LOWER * len(pairs):
        return []
    made: list[list[list[Line]]] = []
    end = 0.0
    for at, block in sorted(blocks, key=lambda one: -one[1][0].top):
        top, bottom = block[0].top - height / 4, block[-1].bottom + height / 4
        if not made or top <= end:
            made.append([[] for _ in columns])
            end = bottom
        if made[-1][at]:
            return []
        made[-1][at], end = block, min(end, bottom)
    has_rules = len({part.band for parts in by_column for part in parts}) > 1
    counts = [[*map(len, filter(None, row))] for row in made]  # of the lines of each cell
    are_rows = any(len({*some}) == 1 < some[0] for some in counts) or min(map(len, counts[:2])) < 2
    return [] if has_rules or len(made) < 3 or are_rows else [*map(_texts, made)]


def _split(cell: Line, columns: Sequence[tuple[float, float]]) -> list[Line]:
    """Returns the parts of a cell, which is split at each gap, even a narrow one, before the next column begins."""
    return cell.cut(
        lambda one, other: other.left - one.right > _LOOSE * cell.height
        and any(one.right <= left <= other.left for left, _ in columns[1:])
    )


def _merged(rows: Sequence[tuple[list[str], Sequence[Line]]]) -> list[list[str]]:
    """Returns the rows' cells, with the lines of each cell joined. If gaps between rows differ, a row joins the close
    row above if, for example, its first cell is empty. If not, a row joins if its only cell is no number. Where rules
    divide the rows, only they count."""
    full = [row[0].band for cells, row in rows if 2 * sum(map(bool, cells)) > len(cells)]
    if len(full) > 2 and len(full) == len({*full}):  # rules part all rows of which most cells are filled
        bands = [[cells for cells, _ in some] for _, some in groupby(rows, lambda row: row[1][0].band)]
        return [[" ".join(filter(None, lines)) for lines in zip(*band, strict=True)] for band in bands]
    gaps = [gap(above, below) for (_, above), (_, below) in pairwise(rows)]
    near, far = min(gaps, default=0.0), max(gaps, default=0.0)
    parted = far - near > _PARTED
    made: list[list[str]] = []
    was_open = False  # the last row has no first cell, and belongs to the next one
    for at, (cells, _) in enumerate(rows):
        before, after = (gaps[one] if 0 <= one < len(gaps) else far for one in (at - 1, at))
        if parted:
            middle = (near + min(far, near + 1)) / 2
            is_header = len(made) == 1 and not any(map(str.isdigit, "".join((*made[0], *cells))))
            is_wrapped = cells[0][:1].islower() and any(sum(map(bool, row)) == 1 for row in (*made[-1:], cells))
            is_rest = before < middle and (not cells[0] or was_open or is_header or is_wrapped)
            was_open = not cells[0] and not is_rest and after < middle
        else:
            filled = [number for number, cell in enumerate(cells) if cell]
            is_rest = before < CLOSE and (not cells[0] or (at == len(rows) - 1 and cells[0][:1].islower()))
            is_rest = is_rest and len(filled) == 1 and not cells[filled[0]][:1].isdigit()
            is_rest = is_rest and bool(made) and bool(made[-1][filled[0]])
        is_centred = at > 0 and _overlap_rows(rows[at - 1][1], rows[at][1])
        pairs = [*zip(made[-1], cells, strict=True)] if made and (is_rest or is_centred) else []
        if pairs and not any(all(map(_VALUE.match, pair)) for pair in pairs):  # no cell has two numbers
            made[-1] = [" ".join(filter(None, pair)) for pair in pairs]
        else:
            made.append(cells)
    return made


def _overlap_rows(above: Sequence[Line], below: Sequence[Line]) -> bool:
    """Returns whether two rows overlap in height, as when cells are centred beside a cell with several lines."""
    overlap = max(one.top for one in below) - min(one.bottom for one in above)
    return overlap > _CENTRED * min(one.height for one in (*above, *below))


def _is_list(cells: Sequence[Sequence[str]]) -> bool:
    """Returns whether an apparent table is a list with marks, numbered lines, a table of contents, or spaced prose."""
    filled = [cell for row in cells for cell in row if cell]
    words = sum(map(len, map(str.split, filled)))
    if len(cells[0]) > _MANY and words < 2 * len(filled) and 2 * sum(map(str.isalpha, filled)) > len(filled):
        return True  # a paragraph whose blanks are as wide as a table's
    if all(sum(map(bool, row[1:])) <= (not row[0] or bool(_MARK.fullmatch(row[0]))) for row in cells):
        return True  # one cell beside a mark, none beside a line between two lists
    numbers = [row[-1] for row in cells if row[-1]]
    pages = [int(number) for number in numbers if number.isdecimal()]
    if len(cells[0]) == 2 and all(map(_NUMBER.fullmatch, numbers)) and len(pages) > 2 and pages == sorted(pages):
        return True
    return any(_LEADERS.search(" ".join(filter(None, row))) for row in cells)


def more_rows(lines: Sequence[Line], table: TableRows) -> tuple[list[list[str]], int]:
    """Returns (cells by row, number of lines) of the first rows in ``lines`` that fill all columns of ``table``."""
    rows, n_lines = [], 0
    for row in rows_of(lines):
        cells = row_cells(row)
        if len(cells) != len(table.columns) or min(map(overlap, cells, table.columns)) <= 0:
            break
        rows.append([cell.text for cell in cells])
        n_lines += len(row)
    return rows, n_lines


def column_of(line: Line, columns: Sequence[tuple[float, float]]) -> int | None:
    """Returns the index of the column that a line is in; None if it is in several or none."""
    over = [at for at, column in enumerate(columns) if overlap(line, column) > 0]
    return over[0] if len(over) == 1 else None


def row_cells(lines: Sequence[Line]) -> list[Line]:
    """Returns the fragments of the lines of a row, sorted in reading direction."""
    found = [part for line in lines for part in fragments(line)]
    return sorted(found, key=lambda part: part.left) if len(lines) > 1 else found
