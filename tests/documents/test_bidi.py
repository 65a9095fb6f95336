"""Letters that a page shows in a row get the order in which they are read."""

from __future__ import annotations

import pytest

from wim_edge.documents.bidi import is_rtl, logical_order, paired

HEBREW = "רקם"


def read(shown: str, from_right: bool = True) -> str:
    return "".join(shown[at] for at in logical_order(shown, from_right))


@pytest.mark.parametrize(("shown", "text"), [
    (f"KX-2719 {HEBREW[::-1]}", f"{HEBREW} KX-2719"),
    (f"2027 {HEBREW[::-1]} 15/03 א", f"א 15/03 {HEBREW} 2027"),
    (f".1,250.50 {HEBREW[::-1]}", f"{HEBREW} 1,250.50."),
    (f"2 24.90 {HEBREW[::-1]}", f"{HEBREW} 24.90 2"),
    (f"15% {HEBREW[::-1]}", f"{HEBREW} 15%"),
    ("%15 ملق", "قلم 15%"),
    (f"Alder Street 9 {HEBREW[::-1]}", f"{HEBREW} Alder Street 9"),
])  # fmt: skip
def test_codes_and_numbers_run_from_left_to_right_in_a_line_from_the_right(shown: str, text: str) -> None:
    assert read(shown) == text


def test_words_from_the_right_in_a_line_from_the_left() -> None:
    shown, text = f"The name is {HEBREW[::-1]} 17 {'אב'[::-1]}, since 2027", f"The name is אב 17 {HEBREW}, since 2027"
    assert read(shown, False) == text
    assert read("No such letters 1-2", False) == "No such letters 1-2"


@pytest.mark.parametrize("text", ["(א 4)", ")א 4(", ")א 4)", "(א 4("])
def test_brackets_open_before_they_close(text: str) -> None:
    assert paired(text, True) == "(א 4)"


def test_the_direction_of_a_line_is_that_of_most_letters() -> None:
    assert is_rtl(f"{HEBREW} KX 12345678")
    assert not is_rtl(f"Alder Street {HEBREW}")
    assert not is_rtl(f"Alder Street {HEBREW}", from_right=True)
    assert not is_rtl("12")
    assert is_rtl("12", from_right=True)
