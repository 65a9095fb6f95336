"""The rows of a table as a grid: cells over several rows or columns, and headers of two lines."""

from __future__ import annotations

from collections.abc import Sequence

from wim_edge.documents.rows import names_columns

Span = tuple[int, int]
"""The rows and the columns over which a cell goes."""
_MOST = 1000
"""The rows or columns over which a cell goes, at most: what is more is a mistake or a trap."""
_REPEATED, _CELLS, _GROWTH = 200, 200_000, 4
"""The most characters of a cell that is repeated in the rows that it goes over, the most cells of a grid, and the times
that its text may be longer than the table's."""


def span_of(rows: str, columns: str) -> Span:
    """Returns the span that a cell's attributes state; 0 rows are all that follow."""
    down, across = (int(one) if one.isdecimal() and len(one) < 5 else 1 for one in (rows, columns))
    return min(down or _MOST, _MOST), min(max(across, 1), _MOST)


def grid(
    rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]], *, is_second_headed: bool = False
) -> list[list[str]]:
    """Returns the rows with a cell's text in each row that it goes over; and with a header of two lines as one, "Adult
    single", if the second one's cells are headings or stand below a cell that goes over both. A cell over all columns
    stays one cell: it is the title of some rows."""
    n_columns = max(sum(across for _, across in row) for row in spans)
    is_plain = len(set(map(len, rows))) == 1 and all(down == 1 for row in spans for down, _ in row)
    if is_plain or n_columns > _MOST or n_columns * len(rows) > _CELLS:
        return [list(row) for row in rows]
    two_lines = len(rows) > 2 and _has_two_lines(rows, spans, n_columns, is_second_headed)
    made: list[list[str]] = []
    goes_on: dict[int, tuple[str, int]] = {}  # by column, what goes on from the rows above, and over how many rows
    for number, (cells, over) in enumerate(zip(rows, spans, strict=True)):
        begun: dict[int, tuple[str, int]] = {}
        row: list[str] = []
        for text, (down, across) in zip(cells, over, strict=True):
            if across >= n_columns > 1:
                row = [text]
                break
            while len(row) in goes_on:
                row.append(goes_on[len(row)][0])
            for at in range(across):
                if down > 1:
                    begun[len(row)] = text if at == 0 and len(text) <= _REPEATED else "", down
                row.append(text if at == 0 or (two_lines and number == 0) else "")
        else:
            for column in range(len(row), max(goes_on, default=-1) + 1):
                row.append(goes_on[column][0] if column in goes_on else "")
        left = {column: (text, n - 1) for column, (text, n) in (goes_on | begun).items()}
        goes_on = {column: (text, n) for column, (text, n) in left.items() if n}
        made.append(row)
    size = sum(len(cell) + 1 for row in rows for cell in row)
    if sum(len(cell) + 1 for row in made for cell in row) > _GROWTH * size + _MOST:
        return [list(row) for row in rows]
    if two_lines and len(made[0]) == len(made[1]):
        both = [one if one == other else f"{one} {other}".strip() for one, other in zip(made[0], made[1], strict=True)]
        made[:2] = [both]
    return made


def _has_two_lines(
    rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]], n_columns: int, is_second_headed: bool
) -> bool:
    below = sum(across for down, across in spans[0] if down == 1)
    over_both = any(down > 1 for down, _ in spans[0])
    fits = sum(across for _, across in spans[1]) == below and any(1 < across < n_columns for _, across in spans[0])
    return fits and (over_both or is_second_headed) and not any(map(str.isdigit, "".join(rows[1])))


def lines_of(
    rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]], *, is_headed: bool, is_second_headed: bool = False
) -> list[str]:
    """Returns the rows as lines, the first with a pipe before it if it names the columns. ``is_headed``: its cells are
    headings; ``is_second_headed``: so are those of the row below it."""
    table = grid(rows, spans, is_second_headed=is_second_headed)
    lines = [" | ".join(row).strip() for row in table]
    if len(table[0]) > 1 and (is_headed or names_columns(table)) and not lines[0].startswith("|"):
        lines[0] = f"| {lines[0]}"
    return lines
