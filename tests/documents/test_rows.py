from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, product

import pytest

from tests.documents.conftest import Read
from tests.documents.make import place_of, saved
from tests.documents.test_opendocument import file as opendocument
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.rows import add_rows, grid, line_of, names_columns, span_of
from wim_edge.documents.tables import header_above, labelled

docx, openpyxl, pptx = map(pytest.importorskip, ("docx", "openpyxl", "pptx"))


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


def table_file(kind: str, rows: list[list[str]], merged: list[tuple[int, ...]]) -> bytes:
    """Returns a table as a file. ``merged``: the first row and column, and the last, of each merged cell."""
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for one in merged:
            book.active.merge_cells(None, *(at + 1 for at in one))
        return saved(book)
    if kind in ("docx", "pptx"):
        made = docx.Document() if kind == "docx" else pptx.Presentation()
        page = made if kind == "docx" else made.slides.add_slide(made.slide_layouts[6]).shapes
        table = page.add_table(len(rows), len(rows[0]), *[9] * 4 * (kind == "pptx"))
        table = table if kind == "docx" else table.table
        for at, said in enumerate(chain(*rows)):
            table.cell(*divmod(at, len(rows[0]))).text = said
        for one in merged:
            table.cell(*one[:2]).merge(table.cell(*one[2:]))
        return saved(made)
    ends = {one[:2]: one[2:] for one in merged}
    covered = {at for one in merged for at in product(*(range(one[n], one[n + 2] + 1) for n in (0, 1)))} - {*ends}
    lines = [""] * len(rows)
    for at, said in (((n, at), said) for n, row in enumerate(rows) for at, said in enumerate(row)):
        down, across = (1 + end - begin for begin, end in zip(at, ends.get(at, at), strict=True))
        if at not in covered:
            lines[at[0]] += f"<td rowspan='{down}' colspan='{across}'><p>{said}</p></td>"
        elif kind == "odt":
            lines[at[0]] += "<table:covered-table-cell/>"
    markup = f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>"
    if kind == "html":
        return markup.encode()
    names = {"td": "table:table-cell", "tr": "table:table-row", "table": "table:table", "p": "text:p"}
    markup = re.sub(r"(?<=[</])(td|tr|table|p)(?=[ >])", lambda tag: names[tag[1]], markup)
    markup = re.sub(r"(row|col)span", lambda one: f"table:number-{one[1].replace('col', 'column')}s-spanned", markup)
    return opendocument("text", markup)


@pytest.mark.parametrize("kind", ["docx", "html", "odt", "pptx", "xlsx"])
@pytest.mark.parametrize(("table", "merged", "text"), [
    ("Fees/2024///;/Adult//Child/;/Day/Year/Day/Year;Swim/3/30/2/20;Skate/5/50/4/40", "0020 0104 1112 1314",
     "| Fees | 2024 Adult Day | 2024 Adult Year | 2024 Child Day | 2024 Child Year\nSwim | 3 | 30 | 2 | 20"),
    ("Category/Adult//Child/;/single/return/single/return;Foot/14.50/26.00/7.50/13;Dog/5.00/9.00//", "0010 0102 0304",
     "| Category | Adult single | Adult return | Child single | Child return\nFoot | 14.50 | 26.00 | 7.50 | 13\nDog"),
    ("Team/Name/Room;Office/Anna/12;/Ben/14;Yard/Cleo/2;Total/3/;x/y/z", "1020 4142",
     "| Team | Name | Room\nOffice | Anna | 12\nOffice | Ben | 14\nYard | Cleo | 2\nTotal | 3 |\nx | y | z"),
    ("Week/Early//Late/;/M/T/M/T;18/yes/2/3/4", "0010 0102 0304",
     "| Week | Early M | Early T | Late M | Late T\n18 | yes"),
    ("/Prices/;Item/2 m/3 m;Rope/1.20/1.50;Wire/0.80/1.00", "0102", "| Item | Prices 2 m | Prices 3 m\nRope | 1.20"),
    ("Area/Sales//Note;/2024/2025/;North/1/2/x;/3/4/y", "0010 0102 0313 2030",
     "| Area | Sales 2024 | Sales 2025 | Note\nNorth | 1 | 2 | x\nNorth | 3 | 4 | y"),
    ("Day/Early/Noon;Monday/Closed/;Friday/Yoga/Band", "1112", "| Day | Early | Noon\nMonday | Closed |\nFriday"),
    ("Prices//;Item/Small/Large;Tea/1.20/1.50;Milk/1/2", "0002", "Prices\n\n| Item | Small | Large\nTea | 1.20"),
    ("Applicant/Name/Anna/;/Street/Mill Road/North;/Town/Kiel/South", "0020 0203", "Applicant | Name | Anna |\nApp"),
])  # fmt: skip
def test_wide_and_high_cells_label_what_they_span(read: Read, kind: str, table: str, merged: str, text: str) -> None:
    rows = [row.split("/") for row in table.split(";")]
    data = table_file(kind, rows, [tuple(map(int, one)) for one in merged.split()])
    assert read(f"a.{kind}", data).text.startswith(text)


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
