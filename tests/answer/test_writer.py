"""A model that words an answer: its way out, the end of its sentence, and the words that it has to say."""

from __future__ import annotations

from contextlib import closing

import pytest

from wim_edge.answer.writer import Writing, agrees, said
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.chat import chat_format
from wim_edge.reading.prompts import Prompts
from wim_edge.testing import FakeModel


@pytest.mark.parametrize(
    ("run", "text", "is_said"),
    [("4,000 crowns", "She paid 4,000 crowns.", True), ("4,000 crowns", "She paid 14,000 crowns.", False),
     ("Dr. A. Brandt", "It was DR A BRANDT who bought it", True), ("no", "Nobody knows.", False),
     ("北京", "首都是北京。", True), ("", "Anything.", False)],
)  # fmt: skip
def test_a_run_is_said_in_whole_words(run: str, text: str, is_said: bool) -> None:
    assert said(run, text) is is_said


@pytest.mark.parametrize(
    ("run", "text", "agreed"),
    [("the area of West Frisia", "It was in THE AREA of West-Frisia.", True), ("22 days", "2 days", False),
     ("must never be opened", "It must be opened.", False), ("3 to 5", "5 to 3", False),
     ("an iron–nickel alloy", "It is made of iron and nickel.", False), ("", "Anything.", False)],
)  # fmt: skip
def test_who_says_all_of_the_words_in_their_order_agrees(run: str, text: str, agreed: bool) -> None:
    assert agrees(run, text) is agreed


def writing(model: FakeModel) -> Writing:
    chat, _ = chat_format(model)
    sequence = model.context(2048).sequence()
    sequence.append(model.tokenize("The mill stood by the river."))
    return Writing(model, chat, Prompts(chat=chat.is_chat), Sampler(), sequence, chat.stops)


def test_yes_or_no_is_measured_and_leaves_the_passages_as_they_are() -> None:
    odds = []
    for says in ("No", "Yes"):
        one = writing(FakeModel(lambda prompt, says=says: says))
        before = len(one.sequence)
        odds.append(one.yes("answerable", "Where did it stand?") or 0.0)
        assert len(one.sequence) == before
    assert odds[0] < -5 < 5 < odds[1]
    assert writing(FakeModel(lambda prompt: "No", chat_template=None)).yes("answerable", "Where?") is None


@pytest.mark.parametrize(
    ("says", "text"),
    [("It stood by the river. Nobody knows why. It was old.", "It stood by the river."),
     ("It was old. It stood by the river. Nobody knows why.", "It was old. It stood by the river."),
     ("It was old. Nobody knows. It stood by the river.", "It was old. Nobody knows."),
     ("By the river", "By the river")],
)  # fmt: skip
def test_an_answer_ends_with_the_sentence_that_says_the_run(says: str, text: str) -> None:
    model = FakeModel(lambda prompt: says)
    one = writing(model)
    with closing(one.sequence):
        assert one.sentence("Where?", "by the river", 64) == text
    assert one.finish_reason == "stop"
