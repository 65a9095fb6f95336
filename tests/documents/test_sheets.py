from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from tests.documents.make import archive, claiming, members_of, place_of, rezip, saved

openpyxl = pytest.importorskip("openpyxl")


def book(**sheets: list[list[Any]]) -> bytes:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.properties.title = "The book"
    return saved(made)


def workbook(rows: Iterable[Sequence[Any]]) -> Any:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    return made


SAMPLE = book(Prices=[[None, "Item", "Price"], [None, "Rope", 24.5]], Staff=[["Name", "Room"], ["Anna", "=1+1"]])


def test_sheets_are_sections_and_rows_lines(read) -> None:
    document = read("a.xlsx", SAMPLE)
    assert document.text == "| Item | Price\nRope | 24.5\n\nName | Room\nAnna |"  # a formula that was never reckoned
    assert [mark.section for mark in document.marks] == ["Prices", "Staff"]
    assert document.title == "The book"
    assert document.notes == (
        "sheet Staff: no value was kept of 1 formula (first: B2); a spreadsheet program that opens and saves the file "
        "keeps them",
    )


def test_hidden_sheets_are_told(read) -> None:
    made = openpyxl.load_workbook(io.BytesIO(SAMPLE))
    made["Staff"].sheet_state = "hidden"
    document = read("a.xlsx", saved(made))
    assert document.notes == ("1 hidden sheet was left out (Staff)",)
    assert "Anna" not in document.text
    made.properties.title = None
    assert read("prices.xlsx", saved(made)).title == "prices"


def test_cells_that_stand_far_apart_cost_little(read) -> None:
    sheet = members_of(SAMPLE)["xl/worksheets/sheet1.xml"].decode()
    far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row></sheetData>'
    sheet = re.sub("</sheetData>", far, sheet).replace("<c ", '<!-- c --><c s="" ')
    data = rezip(SAMPLE, {"xl/worksheets/sheet1.xml": sheet})
    assert read("a.xlsx", data).text.startswith("| Item | Price\nRope | 24.5")


def test_damaged_ones_and_bombs_cost_little(read, refuse) -> None:
    assert "damaged" in str(refuse("a.xlsx", SAMPLE[:2000]))
    assert "damaged" in str(refuse("a.xlsx", archive({"xl/workbook.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.xlsx", rezip(SAMPLE, {"xl/worksheets/sheet1.xml": "<worksheet><"})))
    assert "unpacks to" in str(refuse("a.xlsx", claiming(SAMPLE, 2**31)))
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
        f"<!ENTITY {name} '{f'&{other};' * 10}'>" for name, other in zip("bcdefghi", "abcdefgh", strict=True)
    )
    strings = (
        f'{bomb}]><sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>&i;</t></si></sst>'
    )
    assert len(read("b.xlsx", rezip(SAMPLE, {"xl/sharedStrings.xml": strings})).text) < 1000


def test_parts_whose_names_differ_in_capitals_are_read(read) -> None:
    members = {name.lower(): content for name, content in members_of(SAMPLE).items()}
    assert {"[content_types].xml", "docprops/core.xml"} <= set(members)
    document = read("a.xlsx", archive(members))
    assert (document.title, document.text) == ("The book", read("b.xlsx", SAMPLE).text)


@pytest.mark.parametrize("size", [b"A1:B7000", b"A1:A3", b"A1:XFD1048576"])
def test_a_long_sheet_is_read_to_its_end_whatever_size_it_says(read, size: bytes) -> None:
    members = members_of(saved(workbook([f"part {number}", number] for number in range(7_000))))
    told = {name: re.sub(rb'(?<=dimension ref=")[^"]*', size, content) for name, content in members.items()}
    document = read("a.xlsx", archive(told))
    assert document.text.split("\n")[-1] == "part 6999 | 6999"
    assert len(document.text.split("\n")) == 7_000
    assert document.notes == ()


def test_what_stands_too_far_right_is_told(read) -> None:
    document = read("a.xlsx", saved(workbook([[f"v{number}" for number in range(1_001)]])))
    assert "v999" in document.text
    assert document.notes == ("sheet Sheet: what stands right of 1,000 columns was not read",)


def test_merged_cells_do_not_make_a_sheet_long(read) -> None:
    book = workbook(["x" * 200 if number == 0 else None, number] for number in range(20_000))
    book.active.merge_cells("A1:A20000")
    assert len(read("a.xlsx", saved(book)).text) < 1_300_000


def test_hidden_rows_and_columns_are_left_out_and_those_shown_keep_their_places(read) -> None:
    book = workbook([("Secret", "Place", "Rate"), ("s", "Old", 1), ("s", "North", 0.475), ("s", "South", 2)])
    book.active["C3"].number_format = "0.0%"
    book.active.row_dimensions[2].hidden = book.active.column_dimensions["A"].hidden = True
    document = read("a.xlsx", saved(book))
    assert document.text == "| Place | Rate\nNorth | 47.5%\nSouth | 2"
    assert document.notes == ("1 hidden row was left out (Sheet, row 2)", "1 hidden column was left out (Sheet, A)")
    places = [place_of(document, word) for word in ("Place", "North", "South | 2")]
    assert [(place.row, place.cells) for place in places] == [(1, "B1"), (3, "B3"), (4, "B4:C4")]
    book.active.column_dimensions["A"].hidden, book.active.column_dimensions["B"].hidden = False, True
    assert read("b.xlsx", saved(book)).place(0, 20).cells is None, "a column between is hidden"
    book = workbook([("Item", "All", None, None), (None, "Old", "Low", "High"), ("Tea", 9, 1, 2)])
    book.active.merge_cells("B1:D1")
    book.active.column_dimensions["B"].hidden = True
    assert read("c.xlsx", saved(book)).text == "| Item | All Low | All High\nTea | 1 | 2", "the wide cell is not hidden"


def test_struck_out_cells_and_parts_of_cells(read) -> None:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.styles import Font

    up, struck = InlineFont(vertAlign="superscript"), InlineFont(strike=True)
    rent = CellRichText("EUR ", TextBlock(struck, "35 "), "40", TextBlock(up, "1"))
    book = workbook([["Rent", rent], ["Fee", 12]])
    book.active["B2"].font = Font(strike=True)
    document = read("a.xlsx", saved(book))
    assert document.text == "Rent | EUR 40 [1]\nFee |"
    assert document.notes == ("2 struck-out passages were left out (Sheet, B1; Sheet, B2)",)


def test_comments_and_links_without_a_kept_value(read) -> None:
    from openpyxl.comments import Comment

    links = ['=HYPERLINK("http://x.y/","List")', '=HYPERLINK("http://x.y/")']
    book = workbook([["Item", "Price"], ["Rope", 24], links])
    book.active["B2"].comment = Comment("net of\ntax", "A")
    book.active.oddHeader.center.text, book.active.oddFooter.left.text = "A && B, 3 May", "Page &P"
    document = read("a.xlsx", saved(book))
    assert document.text == "Item | Price\nRope | 24\nList | http://x.y/\n\nB2: net of tax\n\nA & B, 3 May"
    assert place_of(document, "net").row is None
    assert not document.notes


def test_text_boxes_and_the_titles_of_charts_stand_below_the_rows(read) -> None:
    from openpyxl.chart import BarChart, Reference

    book, chart = workbook([["Item", "Sum"], ["Rope", 24]]), BarChart()
    chart.add_data(Reference(book.active, min_col=2, min_row=1, max_row=2), titles_from_data=True)
    chart.title, chart.y_axis.title = "Sales by item", "kEUR"
    book.active.add_chart(chart, "D2")
    data = saved(book)
    kind = "http://schemas.openxmlformats.org/drawingml/2006/"
    box = f"""<x:sp xmlns:x="{kind}spreadsheetDrawing" xmlns:a="{kind}main"><x:nvSpPr><x:cNvPr/></x:nvSpPr><x:txBody>
        <a:p><a:r><a:t>All in </a:t></a:r><a:r><a:rPr strike="sngStrike"/><a:t>USD</a:t></a:r><a:r><a:t>EUR</a:t></a:r>
        </a:p></x:txBody></x:sp>"""
    boxes = box + box.replace("cNvPr/", 'cNvPr hidden="1"/')
    drawing, *end = members_of(data)["xl/drawings/drawing1.xml"].decode().rpartition("</")
    document = read("a.xlsx", rezip(data, {"xl/drawings/drawing1.xml": "".join([drawing, boxes, *end])}))
    assert document.text == "| Item | Sum\nRope | 24\n\nSales by item\nkEUR\n\nAll in EUR"
    assert read("b.xlsx", rezip(data, {"xl/drawings/drawing1.xml": ""})).text == "| Item | Sum\nRope | 24"
    assert [note.partition(" w")[0] for note in document.notes] == ["1 hidden shape", "1 struck-out passage"]
    assert place_of(document, "kEUR").row is None
