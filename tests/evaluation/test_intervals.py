"""Intervals against values worked out by hand and by their properties."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wim_edge.evaluation.intervals import auroc, interval, mean_by_question


def test_wilson_of_right_and_wrong() -> None:
    low, high = interval([(str(n), float(n < 8)) for n in range(10)])  # type: ignore[misc]
    assert (low, high) == (pytest.approx(0.490162, abs=1e-5), pytest.approx(0.943318, abs=1e-5))


@pytest.mark.parametrize("score", [0.0, 1.0, 0.5])
def test_no_interval_shrinks_to_nothing(score: float) -> None:
    low, high = interval([(str(n), score) for n in range(5)])  # type: ignore[misc]
    assert low <= score <= high
    assert high - low > 0.3


def test_a_bootstrap_of_other_scores() -> None:
    low, high = interval([(str(n), 0.25 + n % 2 / 2) for n in range(100)])  # type: ignore[misc]
    assert low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.01)  # the normal approximation
    assert high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.01)


def test_a_question_counts_once() -> None:
    one_each = [(f"{n}", float(n % 2)) for n in range(40)]
    copied = [(question, score) for question, score in one_each for _ in range(5)]
    assert interval(copied) == interval(one_each)  # five positions that agree say no more than one
    assert interval([]) is None
    assert mean_by_question([("a", 0.0), ("b", 1.0), ("a", 1.0)]) == {"a": 0.5, "b": 1.0}


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 1)), min_size=1, max_size=30))
def test_bounds(scores: list[tuple[str, float]]) -> None:
    low, high = interval(scores)  # type: ignore[misc]
    assert -1e-6 <= low <= high <= 1 + 1e-6
    assert [low, high] == interval(scores)


def test_auroc() -> None:
    assert auroc([3, 4], [1, 2]) == 1
    assert auroc([1, 2], [3, 4]) == 0
    assert auroc([2], [1, 2, 3]) == 0.5
    assert auroc([], [1]) is auroc([1], []) is None
