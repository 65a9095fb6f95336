"""Tables with questions about their cells, in the layouts that tables have as text.

The file `texts/tables` defines the themes of tables:

    @ title | another title
    = label of the column that names the rows :: kind of its values
    * label :: kind :: question for the cell of {row} | another [:: question for the row of {value} | another]
    ! question that no column answers | another
    ~ kind :: value | value

A kind is that of a line `~`, or one of values.py.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from adapter.passages import NO, NONE, YES, Passage, Question, heading
from adapter.values import LISTS, TEXTS, Values
from adapter.writing import Block, cut


@dataclass(frozen=True)
class Column:
    """A column: label, kind of its values, questions for the cell of a row, questions for the row of a cell."""

    label: str
    kind: str
    asks: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Theme:
    """The theme of a table. ``key``: the column that names the rows; ``absent``: questions that no column answers."""

    titles: tuple[str, ...]
    key: Column
    columns: tuple[Column, ...]
    absent: tuple[str, ...]


@cache
def themes() -> tuple[list[Theme], dict[str, list[str]]]:
    """Returns the themes in `texts/tables`, and lists of values by kind."""
    found: list[Theme] = []
    pools = {name: LISTS[name] for name in ("goods", "roles", "teams")}
    titles: tuple[str, ...] = ()
    key = Column("", "")
    columns: list[Column] = []
    for line in (TEXTS / "tables").read_text(encoding="utf-8").splitlines():
        label, *rest = line[2:].split(" :: ")
        several = tuple(tuple(one.split(" | ")) for one in rest[1:])
        match line[0]:
            case "@":
                titles, columns = tuple(label.split(" | ")), []
            case "=":
                key = Column(label, rest[0])
            case "*":
                columns.append(Column(label, rest[0], *several))
            case "!":
                found.append(Theme(titles, key, tuple(columns), tuple(label.split(" | "))))
            case _:
                pools[label] = rest[0].split(" | ")
    return found, pools


_LAYOUTS = ("markdown", "markdown", "pipes", "tabs", "commas", "spaces", "list", "lines")


def table_passage(rng: random.Random) -> Passage:
    """Returns a segment of a random table, perhaps with its title, and questions."""
    theme = rng.choice(themes()[0])
    values = Values(rng)
    columns = rng.sample(theme.columns, rng.randint(min(2, len(theme.columns)), min(4, len(theme.columns))))
    n_rows = rng.randint(3, 10)
    keys = [_value(values, theme.key.kind, f"key{row}") for row in range(n_rows)]
    cells = [[_value(values, column.kind, f"{column.label}{row}") for column in columns] for row in range(n_rows)]
    blocks = _blocks(rng, theme, columns, keys, cells)
    absent: list[Question] = []
    for _ in range(4):
        column, new = rng.choice(columns), _value(values, theme.key.kind, f"new{len(absent)}")
        if new not in keys and column.asks:
            absent.append(Question(_wording(rng, column.asks, new, ""), NONE))
        if column.finds:
            cell = _value(values, column.kind, f"gone{len(absent)}")
            if all(cell not in row for row in cells):
                absent.append(Question(_wording(rng, column.finds, "", cell), NONE))
        absent.append(Question(_wording(rng, theme.absent, rng.choice(keys), ""), NONE))
        if unused := [one for one in theme.columns if one not in columns and one.asks]:
            absent.append(Question(_wording(rng, rng.choice(unused).asks, rng.choice(keys), ""), NONE))
    title = rng.choice(theme.titles)
    name = "" if rng.random() < 0.8 else f"{title.lower().replace(' ', '_')}.md"
    above = heading(name, title if rng.random() < 0.3 else "")
    return cut(rng, "tables", blocks, absent, above)


def _value(values: Values, kind: str, key: str) -> str:
    return values.get(kind, key, themes()[1].get(kind))


def _wording(rng: random.Random, wordings: tuple[str, ...], row: str, value: str) -> str:
    row_low = row if row[1:2].isupper() else row[:1].lower() + row[1:]
    return rng.choice(wordings).format(row=row, value=value, row_low=row_low)


def _blocks(
    rng: random.Random, theme: Theme, columns: list[Column], keys: list[str], cells: list[list[str]]
) -> list[Block]:
    """Returns blocks with questions: perhaps the title, the first row with the header, and the other rows."""
    layout = rng.choice(_LAYOUTS)
    labels = [theme.key.label, *(column.label for column in columns)]
    rows = [[key, *row] for key, row in zip(keys, cells, strict=True)]
    order = list(range(len(labels)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    labels, rows = [labels[at] for at in order], [[row[at] for at in order] for row in rows]
    blocks = []
    if rng.random() < 0.6:
        blocks.append(Block("", rng.choice(["{}", "# {}", "## {}", "**{}**"]).format(rng.choice(theme.titles))))
    header = _header(layout, labels, rows)
    for number, row in enumerate(rows):
        text = _row(layout, labels, row, rows)
        if number == 0 and header:
            text = f"{header}\n{text}"
            header = header.split("\n")[0]
        questions = _questions(rng, columns, keys[number], cells[number], cells)
        gap = "\n\n" if number == 0 and blocks else "\n"
        blocks.append(Block(gap, text, tuple(questions), header))
    return blocks


def _questions(
    rng: random.Random, columns: list[Column], key: str, row: list[str], cells: list[list[str]]
) -> list[Question]:
    found = []
    for at, (column, value) in enumerate(zip(columns, row, strict=True)):
        others = [one[at] for one in cells]
        if column.asks:
            found.append(Question(_wording(rng, column.asks, key, ""), value))
        if column.finds and others.count(value) == 1:
            found.append(Question(_wording(rng, column.finds, "", value), key))
        if rng.random() < 0.12:
            other = rng.choice(others)
            truth = YES if rng.random() < 0.5 or other == value else NO
            stated = value if truth == YES else other
            found.append(Question(f"Is {stated} the {column.label.lower()} of {key}?", truth))
    return found


def _header(layout: str, labels: list[str], rows: list[list[str]]) -> str:
    if layout in ("list", "lines"):
        return ""
    rule = "\n" + "|".join(["", *(" --- " for _ in labels), ""]) if layout == "markdown" else ""
    return _row(layout, labels, labels, rows) + rule


def _row(layout: str, labels: list[str], row: list[str], rows: list[list[str]]) -> str:
    if layout == "markdown":
        return f"| {' | '.join(row)} |"
    if layout == "list":
        return f"- {row[0]}: " + ", ".join(f"{label} {cell}" for label, cell in zip(labels[1:], row[1:], strict=True))
    if layout == "lines":
        return "\n".join(f"{label}: {cell}" for label, cell in zip(labels, row, strict=True)) + "\n"
    if layout == "spaces":
        widths = [max(len(one[at]) for one in [labels, *rows]) + 2 for at in range(len(labels))]
        return "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    return {"pipes": " | ", "tabs": "\t", "commas": "; "}[layout].join(row)
