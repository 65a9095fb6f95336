"""Rows of cells as text: one line per row, cells separated by pipes; the header begins with a pipe.

Tables of every format have this form in a document's text, and `wim_edge.documents.tables` looks cells up in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from itertools import accumulate, chain, pairwise

from wim_edge.documents.document import DocumentBuilder, letters
from wim_edge.documents.tables import shape_of

_NUMBER = re.compile(r"[^A-Za-z]{0,4}\d[\d.,:/\s%–-]*[^\W\d]{0,3}\s?[%€$£¥]?")
"""A number, with its unit or currency, or a date in figures."""
_YEAR = re.compile(r"(?:19|20)\d\d")
Span = tuple[int, int]
"""The numbers of rows and of columns that a cell spans."""
Range = tuple[int, int, int, int]
"""The first column and row, and the last, of a merged cell, from 1."""


class Covered(str):
    """The empty text of a cell that the cell to its left covers."""


_LEVELS = 4  # most lines of a header
_MOST = 1000  # most rows or columns that a cell spans: more are a mistake or an attack
_REPEATED, _ALL_REPEATED, _CELLS, _GROWTH = 200, 1_000_000, 200_000, 4
"""The most characters of a repeated cell, and of all repetitions; the most cells of a grid, and growth of its text."""


def add_rows(
    draft: DocumentBuilder, rows: Iterable[Sequence[str] | None], *, column: int | None = None, headed: int = 0
) -> None:
    """Appends rows of cells as tables, each a paragraph without empty columns at its sides. Empty rows separate tables;
    a None row is hidden. ``column``: a sheet's column (from 1) of the first cell; 0 if others between are hidden.
    ``headed``: the number (from 1) of the last row that the file marks as a heading; 0 if there is none."""
    block: list[list[str]] = []
    numbers: list[int] = []
    for number, row in enumerate(chain(rows, [()]), start=1):
        cells = None if row is None else [cell and " ".join(cell.split()) for cell in row]
        if cells and any(cells):
            block.append(cells)
            numbers.append(number)
        elif block and cells is not None:
            at = 0
            for skipped, left, paragraph in _tables_of(block, sum(one <= headed for one in numbers) or None):
                at += skipped
                lines = paragraph.split("\n")
                places = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
                follows = zip(places, numbers[at:], [-1, *numbers[at:]], strict=False)
                starts = [(place, number) for place, number, above in follows if number != above + 1]
                draft.paragraph(paragraph, rows=() if column is None else starts, column=column + left if column else 0)
                at += len(lines)
            block, numbers = [], []


def add_shown_rows(
    draft: DocumentBuilder, rows: list[list[str] | None], hidden: Set[int], name: str, is_sheet: bool, headed: int = 0
) -> None:
    """Appends rows (None: a hidden row) without the columns ``hidden`` (from 1). Notes each of these that has text."""
    for row in filter(None, rows if hidden else ()):
        for at, cell in enumerate(row):
            if at in hidden and isinstance(cell, Covered):  # what a wide cell shows, its other columns show too
                row[at], row[at - 1] = row[at - 1], ""
    for at in sorted(hidden & {at for row in rows if hidden and row for at, cell in enumerate(row, 1) if cell}):
        draft.omit("hidden column", f"{name}, {letters(at)}")
    if hidden:
        rows = [row and [cell for at, cell in enumerate(row, 1) if at not in hidden] for row in rows]
    first = next(at for at in range(1, len(hidden) + 2) if at not in hidden)
    last = max((at for row in rows if hidden and row for at, cell in enumerate(row, first) if cell), default=0)
    column = 0 if any(first < at <= last for at in hidden) else first
    add_rows(draft, rows, column=column if is_sheet else None, headed=headed)


def table_text(block: Sequence[Sequence[str]], n_headed: int | None = None) -> list[str]:
    """Returns a table's paragraphs: the titles above it, then its rows. A repeated header begins another table.
    ``block``: rows, not all empty; ``n_headed``: how many first rows name the columns (None: unknown)."""
    return [text for _, _, text in _tables_of(block, n_headed)]


def _tables_of(block: Sequence[Sequence[str]], n_headed: int | None = None) -> list[tuple[int, int, str]]:
    """Returns the paragraphs of `table_text`: (number of rows merged into the header, first column from 0, text)."""
    begins = [0]
    again = [at for at in range(2, len(block)) if _is_like(block[at], block[0])]
    if again and names_columns(block[: again[0]]):
        begins += [at - (sum(map(bool, block[at - 1])) == 1) for at in again]  # with the title above the header
    return [one for at, end in pairwise([*begins, len(block)]) for one in _one_table(block[at:end], n_headed)]


def _one_table(block: Sequence[Sequence[str]], n_headed: int | None) -> list[tuple[int, int, str]]:
    filled = {number for row in block for number, cell in enumerate(row) if cell}
    left, right = min(filled), max(filled) + 1
    table = [row[left:right] for row in block]
    titles = []
    widest = max(sum(map(bool, row)) for row in table)
    while len(table) > 1 and (sum(map(bool, table[0])) == 1 < widest or _is_above(table[0], widest)):
        if _is_wide(table[0]) and _with_one_header(table, n_headed)[1]:
            break
        title, n_headed = table.pop(0), (n_headed or 1) - 1 or None
        titles.append((0, left + next(at for at, cell in enumerate(title) if cell), line_of([*filter(None, title)])))
    table, skipped = _with_one_header(table, n_headed)
    lines = [line_of(row) for row in table]
    names = names_columns(table) if n_headed is None else n_headed > 0 and len(table[0]) > 1
    if names and not lines[0].startswith("|"):
        lines[0] = f"| {lines[0]}"
    return [*titles, (skipped, left, "\n".join(lines))]


def _with_one_header(table: list[Sequence[str]], n_headed: int | None) -> tuple[list[Sequence[str]], int]:
    """Returns the rows with a header of several lines merged ("Price" over "net" and "gross": "Price net", "Price
    gross"), and the number of lines saved."""
    for depth in range(min(_LEVELS, len(table) - 1), 1, -1):
        labels: Sequence[str] = table[depth - 1]
        for upper in table[depth - 2 :: -1]:
            labels = labels and _joined(upper, labels)
        one = [labels, *table[depth:]]
        if not labels or not (n_headed or names_columns(one)):
            continue
        below = [[row[at] for row in one[1:] if row[at : at + 1]] for at in range(len(labels))]
        lower = [(cell, at) for row in table[1:depth] for at, cell in enumerate(row)]
        if depth <= (n_headed or 0) or not any(_is_value(cell, below[at], len(labels)) for cell, at in lower):
            return one, depth - 1
    return table, 0


def _joined(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Returns the labels that two lines of a header make up, or []. A wide cell is above filled cells, any other above
    none. If the file does not state which cells are wide, those are before empty ones that are above filled cells."""
    above, labels, group = [*upper, *[""] * (len(lower) - len(upper))], list[str](), ""
    for at in range(1, len(lower) if len(above) == len(lower) and not _is_wide(upper) else 0):
        if lower[at] and not above[at]:
            if not _is_wide(above[at - 1 : at]) and (not above[at - 1] or lower[at - 1] in ("", above[at - 1])):
                return []
            above[at] = Covered()
    follows = [*above[1:], ""]
    if len(above) != len(lower) or not _is_wide(above) or (above[0] and not any(follows)):  # the last: a title
        return []
    for one, other, after in zip(above, lower, follows, strict=True):
        group = group if _is_wide([one]) else one
        if not other if _is_wide([one, after]) else one and other not in ("", one):
            return []
        labels.append(group if other in ("", group) else f"{group} {other}".strip())
    return labels


def _is_wide(row: Sequence[str]) -> bool:
    """Returns whether the file states that a cell of a row, or the cell before the row, spans several columns."""
    return any(isinstance(cell, Covered) for cell in row)


def _is_above(row: Sequence[str], widest: int) -> bool:
    """Returns whether a row is a title above a table: of more than four columns, it fills only the first two."""
    return 2 * sum(map(bool, row)) < widest and all(row[:2]) and not any(row[2:])


def _is_like(row: Sequence[str], header: Sequence[str]) -> bool:
    """Returns whether a row repeats a header: most of the header's labels, at least two, are in their places."""
    alike = sum(bool(cell) and cell.casefold() == label.casefold() for cell, label in zip(row, header, strict=False))
    return alike > 1 and 2 * alike > sum(map(bool, header))


def line_of(cells: Sequence[str]) -> str:
    """Returns a row as a line: "a | b", or "| | b |" if its first cell is empty. Pipes in cells are escaped."""
    line = " | ".join(cell.replace("|", r"\|") for cell in cells)
    line = f"| {line} |" if cells and not cells[0] else line
    while "|  |" in line:
        line = line.replace("|  |", "| |")
    return line.strip()


def names_columns(table: Sequence[Sequence[str]]) -> bool:
    """Returns whether the first row names the columns: all cells but the first are filled, all differ, and none is a
    value like the cells below. If there are two columns, most cells below one label must also have digits."""
    first = [cell.casefold() for cell in table[0]]
    if len(table) < 2 or len(first) < 2 or not all(first[1:]) or len(set(first)) < len(first):
        return False
    columns = [(cell, [row[at] for row in table[1:] if row[at : at + 1]]) for at, cell in enumerate(first)]
    if any(_is_value(cell, below, len(first)) for cell, below in columns):
        return False
    return len(first) > 2 or any(_figures(below) > len(below) / 2 for _, below in columns)


def _is_value(cell: str, below: Sequence[str], n_columns: int) -> bool:
    if _YEAR.fullmatch(cell):  # a year names a column, unless years are below it
        return any(map(_YEAR.fullmatch, below))
    if not any(one in cell for one in "123456789"):  # "£'000" is a unit
        return False
    has_figure = cell[:1].isdigit() if n_columns > 2 else any(map(str.isdigit, cell))
    shape = shape_of(cell)
    alike = _figures(below) if has_figure else sum(shape_of(one) == shape for one in below)  # as a code above codes
    is_unit = n_columns > 2 and any(map(str.isalpha, cell)) and not any(map(str.isalpha, "".join(below)))
    return not is_unit and (_NUMBER.fullmatch(cell) is not None or alike > len(below) / 2)  # "1 kg" above numbers


def _figures(cells: Sequence[str]) -> int:
    return sum(any(map(str.isdigit, cell)) for cell in cells)


def span_of(rows: str, columns: str) -> Span:
    """Returns the (rows, columns) that a cell spans, by its attributes' texts. A rowspan of 0 covers all rows below."""
    down, across = (int(one) if one.isdecimal() and len(one) < 5 else 1 for one in (rows, columns))
    return min(down or _MOST, _MOST), min(max(across, 1), _MOST)


def repeated(text: str) -> str:
    """Returns the text to repeat in the further rows that a cell spans: its own, or "" if that is long."""
    return text if len(text) <= _REPEATED else ""


def grid(rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]]) -> list[list[str]]:
    """Returns rows with a cell for each column, or unchanged if that is too large, their wide cells `merge`d.
    A cell across all columns becomes its row's only cell, a title."""
    n_columns = max(sum(across for _, across in row) for row in spans)
    is_plain = len(set(map(len, rows))) == 1 and all(down == 1 for row in spans for down, _ in row)
    if is_plain or n_columns > _MOST or n_columns * len(rows) > _CELLS:
        return [list(row) for row in rows]
    made: list[list[str]] = []
    merged: list[Range] = []
    ends: dict[int, int] = {}  # by column, the row (from 1) below the last cell that spans rows
    for number, (cells, over) in enumerate(zip(rows, spans, strict=True), start=1):
        row: list[str] = []
        for text, (down, across) in zip(cells, over, strict=True):
            if across >= n_columns > 1:
                row = [text]
                break
            while ends.get(len(row), 0) > number:
                row.append("")
            if down > 1 or across > 1:
                merged.append((len(row) + 1, number, len(row) + across, number + down - 1))
                ends |= dict.fromkeys(range(len(row), len(row) + across), number + down)
            row += [text, *[""] * (across - 1)]
        else:
            row += [""] * (1 + max((at for at, end in ends.items() if end > number), default=-1) - len(row))
        made.append(row)
    merge(made, merged)
    size = sum(len(cell) + 1 for row in rows for cell in row)
    is_long = sum(len(cell) + 1 for row in made for cell in row) > _GROWTH * size + _MOST
    return [list(row) for row in rows] if is_long else made


def merge(rows: Sequence[list[str] | None], merged: Iterable[Range]) -> None:
    """Repeats merged cells' texts, unless long, in the rows that they span, and marks covered cells, in place."""
    left = _ALL_REPEATED
    for column, first, end, last in merged:
        above = (rows[first - 1] if left > 0 and 0 < first <= len(rows) else None) or []
        text, below = above[column - 1] if column <= len(above) else "", rows[last : last + 1]
        above += [""] * (min(end, len(below[0] or ())) - len(above) if text and below else 0)
        for row in filter(None, rows[first - 1 : last] if text else ()):
            left -= 1 + len(repeated(text)) + end - column
            if left > 0 and column <= len(row) and not row[column - 1] and any(row):
                row[column - 1] = repeated(text)
            for at in range(column, min(end, len(row)) if left > 0 and row[column - 1 : column] == [text] else 0):
                row[at] = row[at] or Covered()
