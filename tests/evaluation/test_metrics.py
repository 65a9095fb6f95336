"""Scores against values worked out by hand, by the rules of the publications' own scripts; signs of a bad answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from wim_edge.evaluation.metrics import (
    auroc,
    best_subspan_em,
    contains,
    exact,
    f1,
    first_line,
    has_echo,
    has_loop,
    interval,
    literal,
    mean_by_question,
    normalize,
    one_label,
    says_not_found,
    string_match_all,
    words_f1,
)


def test_normal_form() -> None:
    assert normalize("  The  U.S.A.,  an\nAnswer! ") == "usa answer"
    assert normalize("theatre") == "theatre"  # an article within a word is none
    assert normalize("「黑豹队」，308分。") == "黑豹队308分"


@pytest.mark.parametrize(
    ("metric", "output", "answers", "expected"),
    [
        (contains, "It was Wilhelm Conrad Röntgen, in 1901.", ["Wilhelm Conrad Röntgen"], 1),
        (contains, "the answer is: THE EIFFEL-TOWER", ["Eiffel Tower"], 1),
        (contains, "Paris", ["Paris, France"], 0),
        (contains, "It is 1984", ["198"], 0),  # unlike as published a part of a number or a word does not count
        (contains, "the duke", ["UK"], 0),
        (contains, "1.5 metres", ["15"], 0),
        (contains, "1.5 metres", ["1"], 0),
        (contains, "some 10,000 men", ["10000"], 1),
        (contains, "On April 25, 2018.", ["April 25 , 2018"], 1),
        (contains, "the Eiffel Tower's height", ["Eiffel Tower"], 1),
        (contains, "他在北京工作", ["北京"], 1),
        (contains, "２０１５年", ["2015"], 1),
        (contains, "Cafe\u0301 de Flore", ["caf\u00e9 de flore"], 1),
        (contains, "", ["x"], 0),
        (contains, "anything", [], 0),
        (contains, "I do not know of any north", ["no"], 0),
        (contains, "No, they are not.", ["no"], 1),
        (contains, "anything", ["a", "The"], 0),  # answers without a normal form are never found
        (best_subspan_em, "In Paris.\nNot in Rome.", ["Paris"], 1),  # of the first line alone
        (best_subspan_em, "In Rome.\nNo, in Paris.", ["Paris"], 0),  # a copied context wins nothing
        (best_subspan_em, "\n \nParis\n", ["Paris"], 1),
        (best_subspan_em, "I know", ["no"], 1),  # as published
        (best_subspan_em, "anything", ["the"], 1),  # as published
        (best_subspan_em, "anything", [], 0),
        (f1, "the cat sat", ["cat"], 2 / 3),  # precision 1/2, recall 1
        (f1, "cat cat", ["cat"], 2 / 3),  # a word counts as often as it stands in the answer
        (f1, "a red house", ["blue", "the red house"], 1),
        (f1, "dog", ["cat"], 0),
        (f1, "", ["cat"], 0),
        (f1, "the", ["a"], 1),  # both normalize to nothing
        (f1, "dog", [], 0),
        (f1, "黑豹队赢了", ["黑豹队"], 2 * 3 / (5 + 3)),  # a Chinese character is a word
        (f1, "308 分", ["308分"], 1),
        (exact, "The Eiffel tower.", ["x", "eiffel tower"], 1),
        (exact, "Eiffel tower in Paris", ["eiffel tower"], 0),
    ],
)
def test_scores_by_hand(
    metric: Callable[[str, list[str]], float], output: str, answers: list[str], expected: float
) -> None:
    assert metric(output, answers) == pytest.approx(expected)


def test_a_value_is_matched_as_it_is() -> None:
    value = "0b1c-22"
    assert literal(f'The value is "{value.upper()}".', value) == 1
    assert literal("0b1c 22", value) == literal("0b1c22", value) == 0  # normalizing would have matched them


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("The bathroom.", 1),
        ("Sandra went to the Bathroom. Then to the kitchen.", 1),  # the first sentence alone
        ("The kitchen or the bathroom.", 0),  # one label alone
        ("The kitchen. No, the bathroom.", 0),
        ("", 0),
    ],
)
def test_one_label(output: str, expected: float) -> None:
    assert one_label(output, "Where is Sandra?", " bathroom") == expected


def test_labels_of_the_question_do_not_count() -> None:
    assert one_label("Fred gave the milk to Bill", "Who did Fred give the milk to?", "Bill") == 1
    assert one_label("Fred gave it to Bill and Mary", "Who did Fred give the milk to?", "Bill") == 0
    assert one_label("the blue door", "Which door?", "blue") == 1  # not one of BABILong's


def test_scores_of_word_sets() -> None:
    wanted = ["bako", "dilu", "femo", "gari"]
    assert words_f1("1. bako 2. dilu 3. zuzu", wanted) == pytest.approx(2 * 2 / (3 + 4))
    assert words_f1("The most common are: bako, dilu, femo and gari.", wanted) == pytest.approx(8 / (8 + 4))
    assert words_f1("Bako bako, bako", wanted) == pytest.approx(2 / 5)  # each word once
    assert string_match_all("bako zuzu GARI", wanted) == 0.5
    assert string_match_all("bakodilu", wanted) == 0.5  # as published: strings, not words
    assert words_f1("", wanted) == string_match_all("", wanted) == 0


@given(st.text(), st.lists(st.text(), max_size=4))
def test_scores_are_shares(output: str, answers: list[str]) -> None:
    for metric in (contains, best_subspan_em, exact, f1, words_f1, string_match_all):
        assert 0 <= metric(output, answers) <= 1


@given(st.text(min_size=1).filter(lambda text: normalize(text)), st.text(), st.text())
def test_an_answer_matches_itself(answer: str, before: str, after: str) -> None:
    assert f1(answer, [answer]) == exact(answer, [answer]) == 1
    articles = r"(?<![^\W_])(a|an|the)(?![^\W_])"  # "_a" is one, too
    if re.search(r"[^\W_]", re.sub(articles, "", unicodedata.normalize("NFKC", answer).lower())):
        assert contains(answer, ["nothing of it", answer]) == 1
        assert contains(f"{before} \n{answer}\n {after}", [answer]) == 1
    if first_line(answer) == answer:
        assert best_subspan_em(f"{answer}\n{after}", [answer]) == 1


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five six seven eight", 0),
        ("one two three four five six seven eight " * 2, 1),
        ("one two three four five six seven " * 2, 0),
        ("one two three four five six seven " * 3, 1),  # the run of eight that goes over the seam
        ("one two three four five six seven. One two three four five six seven?", 0),  # of seven words alone
        ("no no no no no no no no no", 1),
        ("", 0),
        ("北京是首都。" * 20, 1),
        ("北京是首都。", 0),
    ],
)
def test_a_run_of_eight_words_that_comes_twice(text: str, expected: float) -> None:
    assert has_loop(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The text says: it is blue.", 1),
        ("It is blue.\nQuestion: what is it?", 1),
        ("Answer: blue", 1),
        ("I write a good answer to the question with blue.", 1),
        ("Use only what the document says: blue.", 1),
        ("The text says that it is blue.", 0), ("It is blue.", 0), ("", 0), ("The answer is blue", 0),
    ],
)  # fmt: skip
def test_words_of_our_prompts(text: str, expected: float) -> None:
    assert has_echo(text, ["The house is blue."]) == expected


def test_what_stands_in_the_document_is_no_echo() -> None:
    assert has_echo("Note: keep it dry.", ["Note: keep it dry."]) == 0
    assert has_echo("Note: keep it dry.", []) == 1
    assert has_echo("Note: keep it dry.", ["Note: keep it dry.", "Another."]) == 0
    assert has_echo("Note that there are two kinds: a and b", ["x"]) == 0
    text = "Write a good answer to the question."
    assert (has_echo(text, [f"How to study. {text}"]), has_echo(text, ["How to study."])) == (0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The text does not seem to say.", 1),
        ("The text doesn't mention a telephone number.", 1),
        ("There is no information about it in the contract.", 1),
        ("It cannot be answered from this text.", 1),
        ("The price is not specified. It may be 5.", 1),
        ("It isn\u2019t mentioned in the text.", 1),
        ("The text makes no reference to it.", 1),
        ("There is nothing about that in the text.", 1),
        ("Information not available.", 1),
        ("The passage lacks this.", 1),
        ("The text never says.", 1),
        ("I cannot find it in the document.", 1),
        ("It does not say who signed.", 1),
        ("I don't know.", 1),
        ("The answer is not in the document.", 1),
        ("The document provides no information.", 1),
        ("It is not known.", 1),
        ("1234567890", 0), ("He did not go.", 0), ("It is blue. The text does not say why.", 0), ("", 0), ("No.", 0),
        ("I know the answer", 0), ("He was not known to the police.", 0), ("The treaty did not include Poland.", 0),
        ("He does not give up.", 0), ("It failed because it did not provide funds.", 0),
        ("The company could not find a buyer, so it was dissolved.", 0),
    ],
)  # fmt: skip
def test_an_absent_answer_is_told_from_an_answer(text: str, expected: float) -> None:
    assert says_not_found(text) == expected
