"""Quotations as a person sees them: with their place, a row by its labels, and marks where they are cut."""

from __future__ import annotations

from tests.reading.mill import TABLE, ask
from wim_edge import Document


def test_a_row_is_shown_by_its_labels() -> None:
    answer = ask(TABLE, "Which room is Hugo Tindall in?", "14")
    assert answer.text == "14\n\nName: Hugo Tindall · Room: 14 (line 4)"
    assert answer.quotes[0].header == "| Name | Room |"


def test_a_sentence_that_is_cut_shows_where() -> None:
    text = "alpha " * 200 + "the treasure lies here, " + "omega " * 200
    shown = ask(Document("d", text), "Where is the treasure?", "treasure lies here", margin_tokens=32).text
    assert "“… " in shown
    assert " …”" in shown
