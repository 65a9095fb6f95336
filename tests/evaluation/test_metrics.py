"""Scores against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge.evaluation.metrics import f1, match, normalize, words_f1, words_found


def test_normal_form() -> None:
    assert normalize("  The  U.S.A.,  an\nAnswer! ") == "usa answer"
    assert normalize("theatre") == "theatre"  # an article within a word is none


@pytest.mark.parametrize(
    ("output", "answers", "expected"),
    [
        ("It was Wilhelm Conrad Röntgen, in 1901.", ["Wilhelm Conrad Röntgen"], 1),
        ("the answer is: THE EIFFEL-TOWER", ["Eiffel Tower", "eiffeltower"], 1),
        ("Paris", ["Paris, France"], 0),
        ("It is 1984", ["198"], 1),  # as published: a part of a word counts
        ("", ["x"], 0),
        ("anything", [], 0),
        ("I do not know of any north", ["no"], 0),
        ("No, they are not.", ["no"], 1),
        ("anything", ["a", "The"], 0),  # answers without a normal form are never found
    ],
)
def test_best_subspan_match(output: str, answers: list[str], expected: float) -> None:
    assert match(output, answers) == expected


@pytest.mark.parametrize(
    ("output", "answers", "expected"),
    [
        ("the cat sat", ["cat"], 2 / 3),  # precision 1/2, recall 1
        ("cat cat", ["cat"], 2 / 3),  # a word counts as often as it stands in the answer
        ("a red house", ["blue", "the red house"], 1),
        ("dog", ["cat"], 0),
        ("", ["cat"], 0),
        ("the", ["a"], 1),  # both normalize to nothing
        ("dog", [], 0),
    ],
)
def test_token_f1(output: str, answers: list[str], expected: float) -> None:
    assert f1(output, answers) == pytest.approx(expected)


def test_scores_of_word_sets() -> None:
    wanted = ["bako", "dilu", "femo", "gari"]
    assert words_f1("1. bako 2. dilu 3. zuzu", wanted) == pytest.approx(2 * 2 / (3 + 4))
    assert words_f1("The most common words in the list are: bako, dilu, femo and gari.", wanted,
                    "What are the most common words in the list?") == pytest.approx(8 / 9)  # "and" alone is wrong
    assert words_f1("Bako bako, bako", wanted) == pytest.approx(2 / 5)  # each word once
    assert words_found("bako zuzu GARI", wanted) == 0.5
    assert words_found("bakodilu", wanted) == 0
    assert words_f1("", wanted) == words_found("", wanted) == 0


@given(st.text(), st.lists(st.text(), max_size=4))
def test_scores_are_shares(output: str, answers: list[str]) -> None:
    for metric in (match, f1, words_f1, words_found):
        assert 0 <= metric(output, answers) <= 1


@given(st.text(min_size=1).filter(lambda text: normalize(text)), st.text(), st.text())
def test_an_answer_matches_itself(answer: str, before: str, after: str) -> None:
    assert f1(answer, [answer]) == 1
    if normalize(answer) not in ("yes", "no"):
        assert match(answer, ["nothing of it", answer]) == 1
        assert match(f"{before} \n{answer}\n {after}", [answer]) == 1
