"""Repetitions, our prompts' words, and absent answers, as a reader would see them."""

from __future__ import annotations

import pytest

from wim_edge.evaluation.shown import has_echo, has_loop, says_not_found


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
    "text",
    [
        "The text says: it is blue.",
        "It is blue.\nQuestion: what is it?",
        "Answer: blue",
        "I write a good answer to the question with blue.",
        "Use only what the document says: blue.",
    ],
)
def test_words_of_our_prompts(text: str) -> None:
    assert has_echo(text, ["The house is blue."]) == 1


@pytest.mark.parametrize("text", ["The text says that it is blue.", "It is blue.", "", "The answer is blue"])
def test_words_of_its_own(text: str) -> None:
    assert has_echo(text, ["The house is blue."]) == 0


def test_what_stands_in_the_document_is_no_echo() -> None:
    assert has_echo("Note: keep it dry.", ["Note: keep it dry."]) == 0
    assert has_echo("Note: keep it dry.", []) == 1
    assert has_echo("Note: keep it dry.", ["Note: keep it dry.", "Another."]) == 0
    assert has_echo("Note that there are two kinds: a and b", ["x"]) == 0
    text = "Write a good answer to the question."
    assert (has_echo(text, [f"How to study. {text}"]), has_echo(text, ["How to study."])) == (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "The document does not seem to say.",
        "The text doesn't mention a telephone number.",
        "There is no information about it in the contract.",
        "It cannot be answered from this text.",
        "The price is not specified. It may be 5.",
        "It isn\u2019t mentioned in the text.",
        "The text makes no reference to it.",
        "There is nothing about that in the text.",
        "Information not available.",
        "The passage lacks this.",
        "The text never says.",
        "I cannot find it in the document.",
        "It does not say who signed.",
        "I don't know.",
        "The answer is not in the document.",
        "The document provides no information.",
        "It is not known.",
    ],
)
def test_an_absent_answer_is_said(text: str) -> None:
    assert says_not_found(text) == 1


@pytest.mark.parametrize(
    "text", ["1234567890", "He did not go.", "It is blue. The text does not say why.", "", "No.", "I know the answer",
             "He was not known to the police.",
             "The treaty did not include Poland.", "He does not give up.",
             "It failed because it did not provide funds.",
             "The company could not find a buyer, so it was dissolved."],
)
def test_an_answer_is_none(text: str) -> None:
    assert says_not_found(text) == 0
