"""The rows of an HTML table as a grid: cells over several rows or columns, and headers of two lines."""

from __future__ import annotations

from collections.abc import Sequence

from wim_edge.documents.rows import names_columns

Span = tuple[int, int]
"""The rows and the columns over which a cell goes."""
_MOST = 1000
"""The rows or columns over which a cell goes, at most: what is more is a mistake or a trap."""


def span_of(rows: str, columns: str) -> Span:
    """Returns the span that a cell's attributes state."""
    rows_over, columns_over = (int(one) if one.isdecimal() and len(one) < 5 else 1 for one in (rows, columns))
    return min(max(rows_over, 1), _MOST), min(max(columns_over, 1), _MOST)


def grid(rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]]) -> list[list[str]]:
    """Returns the rows with a cell's text in each row that it goes over; and with a header of two lines as one, "Adult
    single". A cell over all columns stays one cell: it is the title of some rows."""
    n_columns = max(sum(columns for _, columns in row) for row in spans)
    is_plain = len(set(map(len, rows))) == 1 and all(down == 1 for row in spans for down, _ in row)
    if n_columns > _MOST or is_plain:
        return [list(row) for row in rows]
    open_ones: dict[int, tuple[str, int]] = {}
    made = []
    is_two_lines = len(rows) > 2 and any(1 < columns < n_columns for _, columns in spans[0])
    is_two_lines = is_two_lines and not any(map(str.isdigit, "".join(rows[1])))
    for number, (cells, over) in enumerate(zip(rows, spans, strict=True)):
        row: list[str] = []
        waiting = list(zip(cells, over, strict=False))
        while waiting or len(row) in open_ones:
            if len(row) in open_ones:
                text, left = open_ones.pop(len(row))
                if left > 1:
                    open_ones[len(row)] = text, left - 1
                row.append(text)
                continue
            text, (down, across) = waiting.pop(0)
            if across >= n_columns:
                row.append(text)
                break
            for at in range(across):
                if down > 1:
                    open_ones[len(row)] = text, down - 1
                row.append(text if at == 0 or (is_two_lines and number == 0) else "")
        made.append(row)
    if is_two_lines and len(made[0]) == len(made[1]):
        first, second = made[:2]
        both = [one if one == other else f"{one} {other}".strip() for one, other in zip(first, second, strict=True)]
        made[:2] = [both]
    return made


def lines_of(rows: Sequence[Sequence[str]], spans: Sequence[Sequence[Span]], *, is_headed: bool) -> list[str]:
    """Returns the rows as lines, the first with a pipe before it if it names the columns. ``is_headed``: its cells are
    headings."""
    table = grid(rows, spans)
    lines = [" | ".join(row).strip() for row in table]
    if len(table[0]) > 1 and (is_headed or names_columns(table)) and not lines[0].startswith("|"):
        lines[0] = f"| {lines[0]}"
    return lines
