from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from tests.documents.conftest import Read
from tests.documents.make import place_of
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.rows import add_rows, grid, line_of, names_columns, span_of
from wim_edge.documents.tables import header_above, labelled


def table(rows: Iterable[Sequence[str]], column: int | None = None) -> Document:
    draft = DocumentBuilder()
    add_rows(draft, rows, column=column)
    return draft.document("a")


def text_of(*rows: tuple[str, ...]) -> str:
    return table(rows).text


def test_tables_stand_between_blank_rows_and_without_their_margins() -> None:
    blank, title = ("", "", ""), ("", "Price  list", "")
    text = text_of(blank, title, ("", "Item", "Price"), ("", "Rope\n20 m", "24.90"), blank, ("x", "y"), ("1", ""))
    assert text == "Price list\n\n| Item | Price\nRope 20 m | 24.90\n\n| x | y\n1 |"
    assert header_above(text, text.index("Rope")) == "| Item | Price"
    assert text_of() == text_of(("", " ")) == ""
    assert text_of(("only",), ("a",), ("column",)) == "only\na\ncolumn"


@pytest.mark.parametrize(("table", "is_header"), [
    ("Name;Room/Eva;110", True), ("Name;name/Eva;110", False), ("Name;/Eva;110", False), ("Name;12.5 %/Eva;110", False),
    ("Q1;Q2;Q3/a;b;c", True), ("2024-03-01;Start/2024-03-02;End", False), ("4,5 kg;x/5 kg;y", False),
    ("€ 12;x/€ 3;y", False), ("Name;250 g (€);1 kg (€)/Sunrise;9.4;31/Moon;8.2;29", True),
    (";Note;2023;2022/Cash;17;12,563;15,027", True), ("Year;2023/Cash;2022", False), 
    ("Plant;Price;Price from 10/Yew;14.20;12.50", True),
    ("Water tank;4.5 l/Noise;42 dB", False), ("Refrigerant;R290, 95 g/Noise;42 dB", False),
    ("quit;leave/help;read", False),
    ("Code;Meaning/E7;pump blocked", True), ("Name;Room", False), ("E3;No heat;Call/E4;Wet;Close/E5;Open;Push", False),
])  # fmt: skip
def test_a_first_row_of_words_names_the_columns(table: str, is_header: bool) -> None:
    assert names_columns([row.split(";") for row in table.split("/")]) == is_header


def test_cells_can_be_counted() -> None:
    assert line_of(["a|b", "", "", "c"]) == r"a\|b | | | c"
    assert line_of(["", "x"]) == "| | x |"
    text = text_of(("", "Note", "2023"), ("Cash", "17", "12,563"), ("", "", "1"))
    assert text == "| | Note | 2023 |\nCash | 17 | 12,563\n| | | 1 |"
    assert labelled(header_above(text, text.index("Cash")), "Cash | 17 | 12,563") == "Cash · Note: 17 · 2023: 12,563"


@pytest.mark.parametrize(("table", "text"), [
    ("/Mon-Fri//Sat/;Route/first/last/first/last;12/05:40/23:10/06:30/23:40",
     "| Route | Mon-Fri first | Mon-Fri last | Sat first | Sat last\n12 | 05:40 | 23:10 | 06:30 | 23:40"),
    ("Item/Unit/Price//Stock;//net/gross/;Rope/m/2.10/2.50/40",
     "| Item | Unit | Price net | Price gross | Stock\nRope | m | 2.10 | 2.50 | 40"),
    ("Item/Price/;Rope/2.10/net;Wire/3.00/net", "Item | Price |\nRope | 2.10 | net\nWire | 3.00 | net"),
    ("Name/Room/Note;Anna/Hall/;Ben/Yard/late", "| Name | Room | Note\nAnna | Hall |\nBen | Yard | late"),
    ("Name/Room/;Anna//yes;Ben/Yard/no", "Name | Room |\nAnna | | yes\nBen | Yard | no"),
])  # fmt: skip
def test_a_header_of_two_lines_is_one(table: str, text: str) -> None:
    assert text_of(*(row.split("/") for row in table.split(";"))) == text


def test_what_a_program_writes_above_a_table_is_no_row() -> None:
    above, header, row = ("Wharfe Ltd", "issue 9"), ("Model", "Stroke", "Load", "Speed", "Mass"), ("A", *"1234")
    assert text_of(above, header, row, row) == (
        "Wharfe Ltd | issue 9\n\n| Model | Stroke | Load | Speed | Mass\n" + "\n".join(["A | 1 | 2 | 3 | 4"] * 2)
    )


def test_rows_of_a_sheet_are_told_below_a_header_of_two_lines() -> None:
    document = table([["Item", "Price", ""], ["", "net", "gross"], ["Rope", "2", "3"]], column=1)
    assert document.text == "| Item | Price net | Price gross\nRope | 2 | 3"
    assert place_of(document, "Rope | 2").cells == "A3:B3"


def test_rows_of_a_sheet_keep_their_numbers() -> None:
    rows = [["", "Title"], [], ["Item", "Price"], ["Rope", "24.90"], ["", ""], ["", ""], ["x", "1"]]
    document = table(rows, column=1)
    assert [place_of(document, word).row for word in ("Title", "Item", "Rope", "x")] == [1, 3, 4, 7]


@pytest.mark.parametrize(("shown", "cells"), [
    ("Title", "B1"), ("Rope | 24.90", "B4:C4"), ("24.90", "C4"), ("Rope", "B4"), ("| Item | Price", "B3:C3"),
    ("Item | Price\nRope | 24.90", "B3:C4"), ("24.90\n| | 3 |", "B4:C5"), ("x", "B7"),
])  # fmt: skip
def test_places_of_a_sheet_tell_their_cells(shown: str, cells: str) -> None:
    rows = [["", "Title"], [], ["", "Item", "Price"], ["", "Rope", "24.90"], ["", "", "3"], [], ["", "x", "1"]]
    assert place_of(table(rows, column=1), shown).cells == cells


def test_a_sheet_of_many_columns() -> None:
    document = table([[f"c{number}" for number in range(60)]], column=1)
    assert place_of(document, "c52").cells == "BA1"
    assert document.place(0, len(document.text)).cells == "A1:BH1"


def test_cells_over_rows_stand_in_each(read: Read) -> None:
    rows = (
        "<tr><th>Department</th><th>Name</th><th>Room</th></tr>"
        "<tr><td rowspan=2>Loans</td><td>Wilk</td><td>2.16</td></tr><tr><td>Brinkhaus</td><td>2.17</td></tr>"
        "<tr><td colspan=3>Guests</td></tr><tr><td>Board</td><td rowspan='x'>Abt</td><td></td></tr>"
    )
    text = read("a.html", f"<p>Staff</p><table>{rows}</table><p>End</p>").text
    assert text == (
        "Staff\n\n| Department | Name | Room\nLoans | Wilk | 2.16\nLoans | Brinkhaus | 2.17\nGuests\nBoard | Abt |"
        "\n\nEnd"
    )


def test_a_header_of_two_lines_of_a_page_is_one(read: Read) -> None:
    rows = (
        "<tr><td rowspan=2>Category</td><td colspan=2>Adult</td><td colspan=2>Child</td></tr>"
        "<tr><td>single</td><td>return</td><td>single</td><td>return</td></tr>"
        "<tr><td>Foot</td><td>14.50</td><td>26.00</td><td>7.50</td><td>13.00</td></tr>"
        "<tr><td>Dog</td><td>5.00</td><td>9.00</td><td></td><td></td></tr>"
    )
    lines = read("a.html", f"<table>{rows}</table>").text.split("\n")
    assert lines[0] == "| Category | Adult single | Adult return | Child single | Child return"
    assert lines[1] == "Foot | 14.50 | 26.00 | 7.50 | 13.00"


def test_a_first_row_without_headings_names_the_columns_where_the_others_tell(read: Read) -> None:
    rows = "".join(f"<tr><td>F{n}</td><td>Skarven</td><td>0{n}:50</td></tr>" for n in range(3))
    text = read("a.html", f"<table><tr><td>Sailing</td><td>Ship</td><td>Leaves</td></tr>{rows}</table>").text
    assert text.startswith("| Sailing | Ship | Leaves\nF0 | Skarven | 00:50")
    assert read("b.html", f"<table>{rows}</table>").text.startswith("F0 | Skarven")


def test_columns_that_are_wide_in_every_row_are_no_more_than_one() -> None:
    rows, wide = [["a", "b"], ["c", "d"]], [[(1, 2), (1, 1)]] * 2
    assert grid(rows, wide) == rows


def test_spans_are_bounded() -> None:
    assert span_of("99999999", "0") == (1, 1)
    assert span_of("9999", "-1") == (1000, 1)
    assert span_of("", "2") == (1, 2)
    assert grid([["a"], ["b", "c"]], [[(1, 1000)], [(1, 1000), (1, 1000)]]) == [["a"], ["b", "c"]]
