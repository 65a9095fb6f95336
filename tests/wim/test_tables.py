"""Cells that a question names by their row and their column."""

from __future__ import annotations

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.documents import Segment
from wim_edge.documents.document import Mark
from wim_edge.documents.tables import labelled
from wim_edge.testing import FakeModel
from wim_edge.wim.tables import cell_of_column, extreme_cells, named_cells, table_cell

STAFF = (
    "| Ext. | Name | Job | Room | E-mail |\n| --- | --- | --- | --- | --- |\n"
    "| 112 | Ada Quill | potter, wheel | B.14 | a.quill@ |\n| 113 | Ben Rook | potter, glazes | B.15 | |\n"
    "| 114 | Ada Stone | accounts | 2.04 | usual |\n"
)
LIFTS = "No.\tHouse\tYear built\tStops\n1\tMill Yard\t1998\t4\n4\tFuller's Court\t1987\t9\n5\tFuller's Court\t1994\t4\n"


def cell(text: str, question: str, beginning: int = 0, section: str = "") -> str | None:
    document = Document("d", text, (Mark(0, section=section),) if section else ())
    found = table_cell(document, Segment(0, beginning, len(text), text[beginning:], ()), question)
    return text[slice(*found)] if found else None


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("which room is Ben Rook in", "B.15"),
        ("What is Ada Quill's e-mail address?", "a.quill@"),
        ("extension for accounts", None),  # no name of a row
        ("In which room is Ada?", None),  # there are two
        ("Which room is Carl Finch in?", None),  # there is none
        ("What is Ben Rook's e-mail address?", None),  # it is left empty
        ("Which room is Ada Finch in?", None),  # another Ada
        ("What does Ada Quill earn?", None),  # no column says it
        ("Who is the oldest of all the people in the room behind the kiln?", None),
        ("Which room is Ada Quill not in?", None),
        ("Which room is Ada Quill's manager in?", None),
        ("In which room is the potter Ada Finch?", None),
    ],
)
def test_the_cell_where_row_and_column_meet(question: str, found: str | None) -> None:
    assert cell(STAFF, question) == found
    assert cell(f"Staff\n\n{STAFF}\nAfterwards.", question) == found


def test_the_first_column_names_the_rows() -> None:
    assert cell(LIFTS, "In which year was house 4 built?") == "1987"


def test_a_table_that_goes_on_is_read_by_the_header_above() -> None:
    assert cell(STAFF, "which room is Ben Rook in", STAFF.index("| 113")) == "B.15"
    assert cell(STAFF, "which room is Ada Quill in", STAFF.index("| 113")) is None


def test_the_section_counts_for_what_is_asked() -> None:
    prices = "| Season | Adults | Family |\n| --- | --- | --- |\n| April | 7 | 18 |\n| August | 8 | 21 |\n"
    question = "family ticket for the Basket Museum in August"
    assert cell(prices, question) is None
    assert cell(prices, question, section="Tickets of the Basket Museum") == "21"


@pytest.mark.parametrize(
    ("table", "question"),
    [
        ("\tApril\tAugust\nAdults\t7\t8\nChildren\t3\t4\n", "Adults in August?"),  # no label of the first column
        ("| Name | House | Room |\n| --- | --- | --- |\n| Ann | 12 |\n| Bob | N | 13 |\n", "Which house is Ann in?"),
        ("| Name | Is | Room |\n| --- | --- | --- |\n| Ann | `x|y` | 12 |\n| Bob | z | 1 |\n", "Which room is Ann in?"),
        ("| Name | Room |\n| --- | --- |\n| Ann | 12 |\n| Name | Phone |\n| --- | --- |\n| Bert | 5 |\n",
         "Which room is Bert in?"),
        ("| Model | Price |\n| --- | --- |\n| X-300 Pro | 400 EUR |\n| X-500 | 200 EUR |\n", "price of the X-400 Pro"),
        ("| Item | Price |\n| --- | --- |\n| Bolt 1.5 | 10 |\n| Nut 2.4 | 12 |\n", "What is the price of bolt 5.1?"),
        ("| Name | Deputy | Room |\n| --- | --- | --- |\n| Ben Rook | Ada Stone | 12 |\n| Cid | Eva | 14 |\n",
         "Which room is Ada Stone in?"),
        ("Firm\tContact\tTown\nAcme\tEva Lund\tBern\nBolt\tAda\tUlm\n", "What is the contract of Acme?"),
        ("Firm\tCount\tTown\nAcme\ttwelve\tBern\nBolt\tnine\tUlm\n", "In which country is Acme?"),
        ("if (name || room) {\n  x = name || room;\n y = bert || ann;\n}\n", "Which room is Bert in?"),
        ("Name     Size   Price\nBolt     0123   45 678\nNut      0124   45 679\n", "What is the size of the nut?"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_not_looked_up(table: str, question: str) -> None:
    assert cell(table, question) is None


def test_what_something_costs_is_its_price() -> None:
    prices = "Art.\tPlant\tPot\tPrice\nP-112\tHydrangea\t7 l\t32.00\nP-118\tJapanese maple\t10 l\t89.00\n"
    assert cell(prices, "How much does the Japanese maple cost?") == "89.00"
    assert cell(prices, "price of P-118") == "89.00"
    assert cell(prices, "price of P-130") is None


def test_a_pipe_may_stand_in_a_cell() -> None:
    table = "| Name | Is | Room |\n| --- | --- | --- |\n| Ann | x \\| y | 12 |\n| Bob | z | 13 |\n"
    assert cell(table, "Which room is Ann in?") == "12"


def test_a_long_table_is_looked_through_once() -> None:
    table = "| Name | Room |\n| --- | --- |\n" + "".join(f"| P{n} | {n} |\n" for n in range(30_000))
    assert cell(table, "Which room is P1999 in?") == "1999"
    assert cell(table, "Which room is P29999 in?", table.index("| P29000")) is None
    assert cell("| N1 | R2 |\n" + table[27:], "Which room is P3 in?") is None


def test_a_text_without_a_table_has_none() -> None:
    assert cell("Ben Rook is in room B.15. That is all.", "which room is Ben Rook in") is None


def test_the_answer_is_the_cell_with_its_row_and_header() -> None:
    model = FakeModel(lambda prompt: "potter" if "Answer with a few words" in prompt else "")
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        answer = runtime.ask(Document("staff.md", STAFF), "which room is Ben Rook in")
    assert answer.short == "B.15"
    assert answer.quotes[0].text == "| 113 | Ben Rook | potter, glazes | B.15 | |"
    assert answer.quotes[0].header == "| Ext. | Name | Job | Room | E-mail |"
    assert answer.text.startswith("B.15\n\nExt.: 113 · Name: Ben Rook · Job: potter, glazes · Room: B.15")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How much does the D40-W weigh?", "14.9 kg"),
        ("how heavy is the D40", "14.6 kg"),
        ("How tall is the D40-W?", "58 cm"),
        ("How loud is the D40-W?", None),
    ],
)
def test_a_measure_has_several_names(question: str, found: str | None) -> None:
    text = "| | D40 | D40-W |\n| --- | --- | --- |\n| Weight | 14.6 kg | 14.9 kg |\n| Height | 57 cm | 58 cm |\n"
    assert cell(text, question) == found


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Which mode is the quietest?", ["Quiet"]),
        ("which is the loudest mode", ["Turbo"]),
        ("Which mode needs the most power?", []),  # no word tells what needing is
        ("the mode with the highest power", ["Turbo"]),
        ("Which mode has the lowest power?", ["Cellar", "Quiet"]),
        ("Which mode is the cheapest?", []),  # no column says it
        ("Which mode is not the quietest?", []),
    ],
)
def test_the_row_with_the_most_or_least(question: str, found: list[str]) -> None:
    text = (
        "| Mode | Noise | Power |\n| --- | --- | --- |\n| Auto | 36–44 dB | 300 W |\n"
        "| Cellar | 41 dB | 225 W |\n| Quiet | 34 dB | 225 W |\n"
        "| Turbo | 52 dB | 1,310 W |\n"
    )
    given = extreme_cells(Document("d", text), Segment(0, 0, len(text), text, ()), question)
    assert [text[slice(*one)] for one in given] == found


def test_values_of_several_units_have_no_order() -> None:
    text = "| Walk | Length |\n| --- | --- |\n| Round | 900 m |\n| Ascent | 11 km |\n"
    assert not extreme_cells(Document("d", text), Segment(0, 0, len(text), text, ()), "Which walk is the longest?")


def test_a_sum_is_not_the_most_and_a_row_of_other_cells_might_be() -> None:
    costs = "| Part | Cost |\n| --- | --- |\n| Roof | 801 |\n| Lift | 598 |\n"
    for text, found in ((f"{costs}| Total | 1399 |\n", ["Roof"]), (f"{costs}| Fees | 9,377 | late |\n", [])):
        segment = Segment(0, 0, len(text), text, ())
        given = extreme_cells(Document("d", text), segment, "Which part is the most expensive?")
        assert [text[slice(*one)] for one in given] == found


LOAVES = "| Ingredient | 500 g | 750 g |\nFlour | 320 g | 450 g\nWater | 190 ml |\n"


@pytest.mark.parametrize(
    ("question", "at", "found"),
    [
        ("How much flour for a 750 g loaf?", "320 g", "450 g"),
        ("How much flour for a 750 g loaf?", "450 g", None),  # it stands there
        ("How much flour for a loaf?", "320 g", None),  # no column is named
        ("How much flour for 500 g and 750 g?", "320 g", None),
    ],
)
def test_the_column_that_is_named_is_meant(question: str, at: str, found: str | None) -> None:
    cell = cell_of_column(LOAVES, LOAVES.index(at), question)
    assert (LOAVES[slice(*cell)] if cell else None) == found


def test_what_is_no_table_has_no_columns() -> None:
    text = "| x |\n| --- |\n| y |\n\nNo table.\n"
    assert cell_of_column(text, text.index("y"), "x or y?") is None
    assert cell_of_column(text, text.index("No"), "x or y?") is None


def test_an_empty_last_cell_is_one() -> None:
    assert labelled("Ingredient | 500 g | 750 g", "Water | 190 ml |") == "Ingredient: Water · 500 g: 190 ml"


def test_the_cells_that_a_question_names_are_known_beforehand() -> None:
    costs = "| Cost | 2023 | 2024 |\n| --- | --- | --- |\n| Insurance | 9 | 11 |\n| Rent | 4 | 5 |\n"
    text = f"{LOAVES}\nProse.\n\n{costs}"
    (cell,) = named_cells(Document("d", text), "how much was spent on insurance in 2024")
    assert text[slice(*cell)] == "11"
    assert not named_cells(Document("d", text), "how much was spent on heating in 2024")


CREW = """\
| Name | Position | Room | Since |
| --- | --- | --- | --- |
| Ann Bell | Director | 301 | 2016 |
| Cid Dorn | Registrar | 216 | 1999 |
| Eva Falk | Teacher | 109 | 2020 |
| Gus Hall | Teacher | 110 | 2021 |
"""
SHEET = """\
| Item | Note | 2023 | 2022 |
| --- | --- | --- | --- |
| Total current assets | | 24 | 26 |
| Total assets | 3 | 119 | 108 |
"""
PRICES = """\
| Plant | Pot | Price | Price from 10 |
| --- | --- | --- | --- |
| Yew | 3 l | 14.20 | 12.50 |
| Fig | 5 l | 9 | 8 |
"""


@pytest.mark.parametrize(("table", "question", "found"), [
    (CREW, "Who is the registrar?", "Cid Dorn"), (CREW, "Who is the teacher?", None),
    (CREW, "Who is Registrar?", None), (CREW, "Who is the captain?", None),
    (SHEET, "What were total assets in 2023?", "119"), (SHEET, "What were total current assets in 2022?", "26"),
    (PRICES, "What does the yew cost?", "14.20"), (PRICES, "What does the yew cost from 10 pieces?", "12.50"),
    (PRICES, "In what size of pot is the fig sold?", "5 l"), (PRICES, "What does the red yew cost?", None),
])  # fmt: skip
def test_a_row_is_named_in_full_or_by_what_somebody_is(table: str, question: str, found: str | None) -> None:
    assert cell(table, question) == found


def test_who_has_been_there_the_longest_came_first() -> None:
    document = Document("d", CREW)
    (found,) = extreme_cells(document, Segment(0, 0, len(CREW), CREW, ()), "Who has been there the longest?")
    assert CREW[slice(*found)] == "Cid Dorn"


def test_the_first_line_tells_what_a_table_is_about() -> None:
    text = "Prices of the Lindqvist nursery\n\nOpen from nine.\n\n" + PRICES
    assert cell(text, "What does the yew of the Lindqvist nursery cost?") == "14.20"
    assert cell(PRICES, "What does the yew of the Lindqvist nursery cost?") is None
