"""A sentence cites the passage that holds its words."""

from __future__ import annotations

import pytest

from wim_edge.answer.citations import cite

FERRY = "The ferry of Norra sails at noon. It is painted red."
TRAIN = "The train of Norra leaves at one from the other side."


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
