"""Quotations as a person sees them: with their place, a row by its labels, and marks where they are cut."""

from __future__ import annotations

import pytest

from tests.reading.mill import TABLE, ask
from wim_edge import Document
from wim_edge.answer.quotes import cite

FERRY = "The ferry of Norra sails at noon. It is painted red."
TRAIN = "The train of Norra leaves at one from the other side."


def test_a_row_is_shown_by_its_labels() -> None:
    answer = ask(TABLE, "Which room is Hugo Tindall in?", "14")
    assert answer.text == "14\n\nName: Hugo Tindall · Room: 14 (line 4)"
    assert answer.quotes[0].header == "| Name | Room |"


def test_a_sentence_that_is_cut_shows_where() -> None:
    text = "alpha " * 200 + "the treasure lies here, " + "omega " * 200
    shown = ask(Document("d", text), "Where is the treasure?", "treasure lies here", margin_tokens=32).text
    assert "“… " in shown
    assert " …”" in shown


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("The ferry sails at noon.", [("The ferry sails at noon.", 0)]),
        ("The train leaves at one. The ferry is red.\n",
         [("The train leaves at one.", 1), ("The train leaves at one. The ferry is red.", 0)]),
        ("Norra has both.", []),
        ("Nobody knows why. The train leaves.", [("Nobody knows why. The train leaves.", 1)]),
        ("", []),
        ("It is.", []),
    ],
)  # fmt: skip
def test_a_sentence_cites_what_holds_its_words(text: str, cited: list[tuple[str, int]]) -> None:
    assert [(text[:end], number) for end, number in cite(text, [FERRY, TRAIN])] == cited


def test_of_equal_passages_the_first_is_cited_and_of_none_none() -> None:
    assert cite("The ferry sails.", [FERRY, FERRY]) == ((16, 0),)
    assert cite("The ferry sails.", []) == ()
