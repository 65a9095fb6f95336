"""Raised letters become plain text."""

from __future__ import annotations

import pytest

from wim_edge.documents.raised import raised


@pytest.mark.parametrize(("base", "mark", "follows", "text"), [
    ("450", "1", "", " [1]"), ("km", "2", "", "²"), ("the", "2", "", " [2]"), ("×10", "6", "", "⁶"),
    ("7", "-3", "", "⁻³"), ("2", "nd", "", "nd"), ("3", "1", "/", " 1"),
    ("days", "3,4", "", " [3,4]"), ("word", "a", "", " [a]"),
])  # fmt: skip
def test_exponents_stay_and_marks_are_apart(base: str, mark: str, follows: str, text: str) -> None:
    assert raised(base, mark, follows) == text
