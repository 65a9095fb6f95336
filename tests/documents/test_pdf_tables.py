"""The tables of a PDF's page, told from the places of its words."""

from __future__ import annotations

import pytest

from tests.documents.conftest import Read
from tests.documents.make import pdf, placed
from tests.documents.test_reflow import line
from wim_edge.documents.pdf_lines import Line, rows_of
from wim_edge.documents.pdf_tables import TableRows, row_cells, table_at


def table(*rows: tuple[str, ...]) -> list[list[str]] | None:
    found = first_table([line(cell, n, 150 * at) for n, row in enumerate(rows) for at, cell in enumerate(row) if cell])
    return found and found.cells


def first_table(lines: list[Line]) -> TableRows:
    return table_at([row_cells(row) for row in rows_of(lines)], 0)  # type: ignore[return-value]


def test_rows_and_columns() -> None:
    rows = ("Item", "Qty", "Price"), ("Rope", "2", "24.90"), ("Lamp", "", "8.00"), ("Total", "", "57.80")
    assert table(*rows) == [list(row) for row in rows]
    right_to_left = [[*reversed(row)] for row in rows]
    assert table(*map(tuple, right_to_left)) == right_to_left
    rows = ("Item", "Text", "Price"), (), ("Rope", "of hemp", "24.90"), ("Lamp", "of brass", "8.00")
    assert (table(*rows, ("", "Total", "32.90")) or [])[-1] == ["", "Total", "32.90"]
    # Columns that most rows leave empty
    rows = ("Date", "Paid out", "Paid in", "Balance"), ("1 May", "5", "", "95"), ("2 May", "", "7", "102")
    assert table(*rows, rows[1]) == [*map(list, rows), list(rows[1])]
    # What stands below a cell alone is its rest
    cells = ("Lamp", "of brass, with a", "8.00"), ("", "long chain", "")
    rows = ("Rope", "of hemp", "24.90"), ("Oar", "ash", "9")
    # No cell has two numbers
    kinds = [("tea", "pure", "2"), ("", "black", "3"), (), ("rum", "dark", "5"), ("", "light", "6"), ()] * 2
    assert table(*kinds) == [list(row) for row in kinds if row]
    assert table(*cells, *rows) == [["Lamp", "of brass, with a long chain", "8.00"], *map(list, rows)]


@pytest.mark.parametrize(("left", "fees"), [(110, 0), (60, 0), (110, 1), (60, 1)])
def test_labels_above_several_columns_begin_with_them_or_are_centred_over_them(left: int, fees: int) -> None:
    lines = [line(text, fees, at) for text, at in (("Fees", 0), ("2024", left), ("2025", left + 200)) if fees or at]
    lines = [line("Fees", 0.75, 0) if fees else line("Fees", 0, 0), *[one for one in lines if one.text != "Fees"]]
    for row, texts in enumerate(("Adult Child Adult Child", "3 2 4 3", "5 4 6 5"), fees + 1):
        lines += [line(text, row, 60 + 100 * at) for at, text in enumerate(texts.split())]
        lines += [line("Swim", row, 0)] * (row > fees + 1)
    rows = [["Fees", "2024", "", "2025", ""], ["", "Adult", "Child", "Adult", "Child"], ["Swim", *"3243"]]
    assert first_table(lines).cells[:3] == rows


@pytest.mark.parametrize(("beside", "text", "tops"), [
    (1, "a door with", {"1": 2, "2": 6}),  # rows that are far apart
    *((at, "A door with", {f"{n}": 1.15 + 3.15 * n for n in range(4)}) for at in range(3)),  # hardly farther than lines
])  # fmt: skip
def test_cells_that_wrap_are_in_their_row_wherever_others_are_beside_them(beside: int, text: str, tops: dict) -> None:
    lines = [line(cell, 0, left) for cell, left in (("Pos", 0), ("What", 60), ("Price", 300))]
    for number, top in tops.items():
        lines += [line(number, top + beside, 0)]
        lines += [line(one, top + at, 60) for at, one in enumerate([text, "two indoor", "monitors"])]
        lines += [line(f"{number}9.00", top + beside, 300)]
    rows = [[number, f"{text} two indoor monitors", f"{number}9.00"] for number in tops]
    assert first_table(lines).cells == [["Pos", "What", "Price"], *rows]


def test_cells_that_are_centred_beside_two_lines_are_in_their_row() -> None:
    lines = [line(text, 0, left) for text, left in (("Ticket", 0), ("Seats", 150), ("Price", 300))]
    for row, text in enumerate(("Child", "(under 12)", "Senior", "(weekdays)")):
        lines += [line(text, row + 1, 0)]
        lines += [line(f"{row}0", row + 1.5, left) for left in (150, 300) if not row % 2]
    assert first_table(lines).cells[1:] == [["Child (under 12)", "00", "00"], ["Senior (weekdays)", "20", "20"]]


def test_a_heading_parts_two_tables_of_other_columns() -> None:
    first = [("Meter", 20), ("Units (kWh)", 150), ("Charge", 300)], [("E17K", 20), ("746", 150), ("204.03", 300)]
    rows = [*first, [("Standing charge", 20), ("91 days", 150), ("27.84", 300)]]
    lines = [line(text, number, left) for number, row in enumerate(rows) for text, left in row]
    lines += [line("Gas", 4, 0)]
    lines += [line(text, 5 + number, left + 15) for number, row in enumerate(rows) for text, left in row]
    found = first_table(lines)
    assert (found.end, found.cells) == (3, [[text for text, _ in row] for row in rows])
    lines = [one for one in lines if one.text != "Gas"]
    lines += [line("Gas", 4, 20)]  # where the table's rows begin it is the title of some
    assert first_table(lines).end > 3


def test_addresses_side_by_side_are_cells_above_a_table_of_other_columns() -> None:
    blocks = [("Bill to", "Ship to"), ("Ada", "Ben"), ("Bonn", "Kiel")]
    lines = [line(text, number, 240 * at) for number, row in enumerate(blocks) for at, text in enumerate(row)]
    items = [("Item", "Qty", "Price", "Total"), ("Rope", "1", "24.90", "24.90"), ("Oar", "2", "9.00", "18.00")]
    lines += [line(text, 5 + number, 110 * at) for number, row in enumerate(items) for at, text in enumerate(row)]
    assert (first_table(lines).end, first_table(lines).cells) == (3, [list(row) for row in blocks])


def test_a_cell_that_touches_the_next_column_is_cut() -> None:
    rows = ("Name", "Room", "Keys"), ("Ann", "12", "2"), ("Bo", "13", "1")
    wide = [line("Margarethe von Hohenlohe-Ba 14", 3), line("3", 3, 280)]
    lines = [line(cell, number, at * 140) for number, row in enumerate(rows) for at, cell in enumerate(row)]
    assert first_table([*lines, *wide]).cells == [*map(list, rows), ["Margarethe von Hohenlohe-Ba", "14", "3"]]


def test_lists_programs_contents_and_stretched_lines_are_no_tables_and_a_paragraph_ends_one() -> None:
    rows = ("Item", "Price"), ("Rope", "24.90"), ("Lamp", "8.00")
    long = ("A sentence that goes over both of the columns here", "")
    assert table(*rows, long, ("Oar", "9")) == [list(row) for row in rows]
    assert table(("1.", "an item"), ("2.", "another"), ("Two more",), ("•", "a third"), ("•", "a fourth")) is None
    assert table(("1", "\\begin{x}"), ("2", "", "\\item"), ("3", "\\end{x}")) is None
    assert table(("Care", "3"), ("Light", "7"), ("Water", "12")) is None
    assert table(("Care", ". . . . . . 3"), ("Light", ". . . . . 2"), ("Water", ". . . 9")) is None
    assert table(("stretched", "to", "the"), ("right", "by", "force")) is None
    assert table(("one", "row", "alone")) is None
    assert table(("E = mc", "(1)"), ("which", "(2)")) is None


def test_where_rules_part_the_rows_each_has_all_lines_between_two_rules(read: Read) -> None:
    lines = (0, "Name Seats Floor"), (18, "Sun 60 Up"), (30, "Room"), (48, "Hall 8 Up"), (66, "Sea 9 Up"), (78, "Room")
    cells = [(150 * at, below, cell) for below, row in lines for at, cell in enumerate(row.split())]
    rules = b" ".join(b"40 %d 500 .5 re f" % (750 - below) for below in (5, 35, 53, 83))
    document = read("rooms.pdf", pdf(placed(*cells) + b" ET %s BT" % rules))
    assert document.text.split("\n")[1:] == ["Sun Room | 60 | Up", "Hall | 8 | Up", "Sea Room | 9 | Up"]


def test_a_word_that_a_narrow_cell_splits_is_whole_if_the_document_has_it_elsewhere(read: Read) -> None:
    rows = ("Room Floor Area", "Store Baseme/nt 14", "Hall Ground/floor 4", "Den Gardem/ent 7")
    cells = [
        (60 + 100 * column, 60 + 40 * number + 12 * line, text) for number, row in enumerate(rows)
        for column, cell in enumerate(row.split()) for line, text in enumerate(cell.split("/"))
    ]  # fmt: skip
    document = read("rooms.pdf", pdf(placed((60, 20, "The basement is dry."), *cells)))
    table = "| Room | Floor | Area\nStore | Basement | 14\nHall | Ground floor | 4\nDen | Gardem ent | 7"
    assert document.text == f"The basement is dry.\n\n{table}"
