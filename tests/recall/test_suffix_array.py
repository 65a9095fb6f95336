"""What may come next, and where a run stands, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recall.conftest import suffix_array_of
from wim_edge.recall.suffix_array import LONGEST, SuffixArray, TokenRange

PARTS = st.lists(st.lists(st.integers(0, 4), max_size=12), min_size=1, max_size=8)


END = 65535


def text_of(parts: list[list[int]]) -> np.ndarray:
    return np.array([token for part in parts for token in (*part, END)], np.uint16)


def standing(text: np.ndarray, run: list[int], places: list[int]) -> list[int]:
    return [at for at in places if text[at : at + len(run)].tolist() == run]


def check(runs: SuffixArray, text: np.ndarray, run: list[int], places: list[int]) -> None:
    found = runs.find(run)
    stands = standing(text, run, places)
    if not stands and run:
        assert found is None
        return
    assert found is not None
    assert runs.places(found).tolist() == stands
    assert len(found) == len(stands)
    tokens, edges = runs.successors(found)
    following = [int(text[at + len(run)]) for at in stands]
    assert tokens.tolist() == sorted(set(following))
    assert np.diff(edges).tolist() == [following.count(token) for token in tokens.tolist()]


@settings(max_examples=70)
@given(PARTS, st.lists(st.integers(0, 4), max_size=6))
def test_runs_anywhere(parts: list[list[int]], run: list[int]) -> None:
    text = text_of(parts)
    check(suffix_array_of(text), text, run, [at for at in range(len(text)) if text[at] != END])


@settings(max_examples=70)
@given(PARTS, st.data())
def test_runs_from_the_beginning_of_a_part(parts: list[list[int]], data: st.DataObject) -> None:
    text = text_of(parts)
    begins = np.cumsum([0, *(len(part) + 1 for part in parts[:-1])])
    part = data.draw(st.sampled_from(parts))
    run = part[: data.draw(st.integers(0, len(part)))] + data.draw(st.lists(st.integers(0, 4), max_size=1))
    check(suffix_array_of(text, begins), text, run, begins.tolist())


@settings(max_examples=70)
@given(PARTS, st.lists(st.integers(0, 4), max_size=6), st.data())
def test_runs_inside_some_parts(parts: list[list[int]], run: list[int], data: st.DataObject) -> None:
    text = text_of(parts)
    begins = np.cumsum([0, *(len(part) + 1 for part in parts)]).tolist()
    chosen = data.draw(st.lists(st.integers(0, len(parts) - 1), unique=True))
    spans = [(begins[part], begins[part + 1]) for part in chosen]
    places = [at for at in range(len(text)) if text[at] != END and any(a <= at < b for a, b in spans)]
    check(suffix_array_of(text).inside(*spans), text, run, places)


@settings(max_examples=40)
@given(PARTS)
def test_what_is_kept_of_large_ranges_changes_nothing(parts: list[list[int]]) -> None:
    text = text_of(parts * 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wim_edge.recall.suffix_array._MANY", 2)
        runs = suffix_array_of(text)
        for _ in range(2):
            for part in parts:
                for end in range(len(part) + 1):
                    check(runs, text, part[:end], [at for at in range(len(text)) if text[at] != END])
    assert runs._kept or sum(map(len, parts)) < 3


def test_long_runs_that_are_alike() -> None:
    text = text_of([[1] * 100, [1] * 80 + [2]])
    runs = suffix_array_of(text)
    found = runs.find([1] * LONGEST)
    assert found is not None
    assert len(found) == (100 - LONGEST + 1) + (80 - LONGEST + 1)
    with pytest.raises(ValueError, match="more than"):
        runs.successors(found)


def test_nothing() -> None:
    runs = suffix_array_of(np.zeros(0, np.uint16))
    assert runs.successors(runs.all)[0].tolist() == []
    assert runs.find([1]) is None
    assert suffix_array_of(text_of([[], []])).find([1]) is None
    assert TokenRange(2, 5, 1) == TokenRange(2, 5, 1)
