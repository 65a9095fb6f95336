"""Quotations as a person sees them: with their place, a row by its labels, and marks where they are cut."""

from __future__ import annotations

from tests.reading.mill import MILL, ask
from wim_edge import Document

TABLE = "| Name | Room |\n| --- | --- |\n| Ada Quill | 12 |\n| Hugo Tindall | 14 |\n"


def test_a_quotation_is_of_its_document_and_holds_the_answer() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt")
    quote = answer.quotes[0]
    assert quote.document == "mill.txt"
    assert quote.text == MILL[slice(*quote.chars)]
    assert answer.span is not None
    assert quote.chars[0] <= answer.span[0] < answer.span[1] <= quote.chars[1]


def test_a_row_is_shown_by_its_labels() -> None:
    answer = ask(TABLE, "Which room is Hugo Tindall in?", "14")
    assert answer.text == "14\n\nName: Hugo Tindall · Room: 14 (line 4)"
    assert answer.quotes[0].header == "| Name | Room |"


def test_a_sentence_that_is_cut_shows_where() -> None:
    text = "alpha " * 200 + "the treasure lies here, " + "omega " * 200
    shown = ask(Document("d", text), "Where is the treasure?", "treasure lies here", margin_tokens=32).text
    assert "“… " in shown
    assert " …”" in shown
