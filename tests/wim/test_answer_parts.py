"""The parts of an answer."""

from __future__ import annotations

from tests.wim.mill import ask


def test_of_two_names_a_list_has_both() -> None:
    text = "Apologies came from Leonard Voss and Mary Tranter, who were ill."
    assert ask(text, "Which councillors were absent?", "Leonard Voss").short == "Leonard Voss and Mary Tranter"
