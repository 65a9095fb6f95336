"""The rows of a table as a grid, where cells go over several rows or columns."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""The rows and the columns over which a cell goes."""
_MOST = 1000  # the rows or columns over which a cell goes, at most: what is more is a mistake or a trap
_REPEATED, _CELLS, _GROWTH = 200, 200_000, 4
"""The most characters of a cell that is repeated in the rows that it goes over, the most cells of a grid, and the times
that its text may be longer than the table's."""


def span_of(rows: str, columns: str) -> Span:
    """Returns the span that a cell's attributes state; 0 rows are all that follow."""
    down, across = (int(one) if one.isdecimal() and len(one) < 5 else 1 for one in (rows, columns))
    return min(down or _MOST, _MOST), min(max(across, 1), _MOST)


def grid(rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]]) -> list[list[str]]:
    """Returns the rows with a cell's text in each row that it goes over. A cell over all columns stays one cell: it is
    the title of some rows."""
    n_columns = max(sum(across for _, across in row) for row in spans)
    is_plain = len(set(map(len, rows))) == 1 and all(down == 1 for row in spans for down, _ in row)
    if is_plain or n_columns > _MOST or n_columns * len(rows) > _CELLS:
        return [list(row) for row in rows]
    made: list[list[str]] = []
    goes_on: dict[int, tuple[str, int]] = {}  # by column, what goes on from the rows above, and over how many rows
    for cells, over in zip(rows, spans, strict=True):
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
                row.append(text if at == 0 else "")
        else:
            for column in range(len(row), max(goes_on, default=-1) + 1):
                row.append(goes_on[column][0] if column in goes_on else "")
        left = {column: (text, n - 1) for column, (text, n) in (goes_on | begun).items()}
        goes_on = {column: (text, n) for column, (text, n) in left.items() if n}
        made.append(row)
    size = sum(len(cell) + 1 for row in rows for cell in row)
    is_long = sum(len(cell) + 1 for row in made for cell in row) > _GROWTH * size + _MOST
    return [list(row) for row in rows] if is_long else made
