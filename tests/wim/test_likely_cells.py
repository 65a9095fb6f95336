"""The likeliest cell of a document's tables: a row by its words, a column by its label or by the form asked for."""

from __future__ import annotations

import pytest

from wim_edge.documents import Document
from wim_edge.documents.document import Mark
from wim_edge.wim.likely_cells import likely_cell

PRICES = """Price list of Montferrat, spring 2025

| Ref. | Model | Weight (kg) | Price (€)
Touring bikes
MF-110 | Alba 3 | 14.8 | 549.00
MF-118 | Alba 7 | 15.6 | 629.00
Electric bikes
MF-312 | Brisa Cargo | 38.5 | 4,495.00
MF-318 | Tramuntana | 23.7 | 3,120.00

Invoice date | 17 September 2024
Payment due | 17 October 2024
Our contact | Jens Kollwitz
"""
STAFF = """Who is who

| Department | Name | Job | Room | Ext. | Since
Collections | Agnieszka Wilk | Registrar, loans | 2.16 | 36 | 2011-05-01
Collections | Theo Brinkhaus | Provenance | 2.17 | 37 | 2019-01-15
Conservation | Lars Ohlendorf | Paper conservator | 0.08 | 52 | 1998-10-01

| Cable | LW-FLEX | LW-RUB
Lowest °C | -5 | -25
5 x 16, rating A | 76 | 82

| Item | Hours | Amount
Montage | 9 | 648.00 €
Zwischensumme Arbeitsleistung | | 4.207,50 €
"""


@pytest.mark.parametrize(("text", "question", "cell"), [
    (PRICES, "What would I have to pay for the Alba 7 bike?", "629.00"),
    (PRICES, "How heavy is the Tramuntana they sell?", "23.7"),
    (PRICES, "When do I have to pay it?", "17 October 2024"),
    (PRICES, "Which of their bikes is the heaviest?", "Brisa Cargo"),
    (PRICES, "What does the MF-312 cost nowadays?", "4,495.00"),
    (STAFF, "Who looks after loans there?", "Agnieszka Wilk"),
    (STAFF, "What is the extension of the paper conservator?", "52"),
    (STAFF, "What did LW-RUB 5 x 16 get as its rating?", "82"),
    (STAFF, "Was macht die Arbeitsleistung zusammen aus?", "4.207,50 €"),
    (STAFF, "When did Brinkhaus join the museum?", "2019-01-15"),
    (STAFF, "Who has worked there longest?", "Lars Ohlendorf"),
])  # fmt: skip
def test_cells(text: str, question: str, cell: str) -> None:
    found = likely_cell(Document("d", text), question)
    assert found is not None
    assert text[slice(*found)] == cell


@pytest.mark.parametrize(("text", "question"), [
    (PRICES, "What does the Alba cost?"),  # there are two
    (PRICES, "Which bike is not electric?"),
    (PRICES, "Who founded the company, and why did they go to Catalonia in the first place?"),
    (STAFF, "Who may enter the strong room after dark without asking anybody?"),
    ("A text without any table.", "What does the Alba 7 cost?"),
    (PRICES, "?"),
])  # fmt: skip
def test_none_is_named(text: str, question: str) -> None:
    assert likely_cell(Document("d", text), question) is None


def test_a_row_is_of_the_section_that_is_named() -> None:
    text = "Trade\n\n| Tool | Price\nDigging fork | 21.00\nSpade | 19.00\n\n"
    marks = (Mark(0, section="Trade"), Mark(len(text), section="Retail"))
    text += "Retail\n\n| Tool | Price\nDigging fork | 34.50\nSpade | 29.00\n"
    for question, price in (
        ("What does a digging fork cost at retail?", "34.50"), ("trade price digging fork please", "21.00"),
        ("Hardware, retail: how much is the spade?", "29.00"),
    ):  # fmt: skip
        found = likely_cell(Document("d", text, marks), question)
        assert found is not None
        assert text[slice(*found)] == price
    assert likely_cell(Document("d", text, marks), "How much is the spade?") is None


ORDERS = """| order | date | customer | item | quantity | status | shipped
1009 | 2024-02-05 | Townsend School | chair | 60 | paid | 2024-03-01
1011 | 2024-02-12 | Lena Fuchs | rocking chair | 1 | open |
1012 | 2024-02-19 | Museum of Glass | display case | 5 | paid | 2024-04-03
"""


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("What item did Lena Fuchs order?", "rocking chair"),
        ("What did the Museum of Glass order?", "display case"),
        ("How many chairs did Townsend School order?", "60"),
        ("When was the order of the Museum of Glass shipped?", "2024-04-03"),
        ("Which order is Lena Fuchs's?", "1011"),
        ("What is the number of the order of the Museum of Glass?", "1012"),
        ("What was the status of the order of Townsend School?", "paid"),
    ],
)
def test_what_numbers_the_rows_is_told_if_it_is_asked_for(question: str, cell: str) -> None:
    document = Document("orders.csv", ORDERS)
    found = likely_cell(document, question)
    assert found is not None
    assert ORDERS[slice(*found)] == cell


def test_a_year_numbers_no_row() -> None:
    text = "| Year | Event\n1931 | bridge built\n1954 | station burnt\n1960 | school opened\n"
    found = likely_cell(Document("town.csv", text), "When was the bridge built?")
    assert found is not None
    assert text[slice(*found)] == "1931"


def test_long_tables_take_no_time() -> None:
    rows = "\n".join(f"K{n} | part {n} | {n}.50 | shelf {n % 7}" for n in range(30_000))
    text = f"| Code | Part | Price | Shelf\n{rows}"
    found = likely_cell(Document("d", text), "What does part 77 cost?")
    assert found is not None
    assert text[slice(*found)] == "77.50"
