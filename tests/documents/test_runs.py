"""Raised, lowered, struck-out and hidden letters."""

from __future__ import annotations

import pytest

from wim_edge.documents.runs import HIDDEN, LOWERED, RAISED, STRUCK, name_of, set_off, shown


@pytest.mark.parametrize(("before", "letters", "text"), [
    ("$450", "1", "$450 [1]"), ("within 21", "2", "within 21 [2]"), ("the deposit", "1, 3", "the deposit [1, 3]"),
    ("It is paid.", "4", "It is paid. [4]"), ("", "1", "[1]"), ("450 EUR", "1", "450 EUR [1]"), ("12", "a", "12 [a]"),
    ("word", "[5]", "word [5]"), ("36 m", "2", "36 m²"), ("m/s", "2", "m/s²"), ("5 km", "2", "5 km²"), ("x", "2", "x²"),
    ("E = mc", "2", "E = mc²"), ("3 × 10", "6", "3 × 10⁶"), ("10", "-3", "10⁻³"), ("s", "−1", "s⁻¹"),
    ("6 in", "2", "6 in²"),
    ("the 1", "st", "the 1st"), ("le 2", "e", "le 2e"), ("Brand", "TM", "BrandTM"), ("450", "*", "450*"),
])  # fmt: skip
def test_a_mark_is_parted_from_the_word_and_an_exponent_is_not(before: str, letters: str, text: str) -> None:
    assert before + set_off(before, letters, RAISED)[0] == text


def test_lowered_figures_and_links() -> None:
    assert set_off("H", "2", LOWERED)[0] == "₂"
    assert set_off("log", "10", LOWERED)[0] == "₁₀"
    assert set_off("x", "max", LOWERED)[0] == "max"
    assert set_off("36 m", "2", RAISED, is_link=True)[0] == " [2]"


def test_what_is_struck_out_or_hidden_goes_with_one_of_the_blanks_around_it() -> None:
    left_out: list[str] = []
    runs = [("The rent is ", ""), ("EUR ", STRUCK), ("1,200", STRUCK), (" EUR 1,350", ""), ("1", RAISED), ("net", ""),
            (" ", HIDDEN), ("secret", HIDDEN), (".", "")]  # fmt: skip
    assert shown(runs, left_out.append) == "The rent is EUR 1,350 [1] net."
    assert left_out == [STRUCK, HIDDEN]
    halves = [("Add 1", ""), ("1", RAISED), ("/", ""), ("2", LOWERED), (" or ", ""), ("3", RAISED), ("⁄4 to x", "")]
    assert shown([*halves, ("2", RAISED), ("/3", "")], left_out.append) == "Add 1 1/2 or 3⁄4 to x²/3"
    assert name_of({STRUCK: True, RAISED: True, HIDDEN: False}) == STRUCK
    assert name_of({}) == name_of({STRUCK: False}) == ""
