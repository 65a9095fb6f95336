"""A model that words an answer: its way out, the end of its sentence, and the words that it has to say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from wim_edge.answer.writer import Writing, agrees, said
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.chat import chat_format
from wim_edge.reading.prompts import Prompts
from wim_edge.testing import FakeModel


@pytest.mark.parametrize(
    ("has", "run", "text", "is_so"),
    [(said, "4,000 crowns", "She paid 4,000 crowns.", True), (said, "4,000 crowns", "She paid 14,000 crowns.", False),
     (said, "Dr. A. Brandt", "It was DR A BRANDT who bought it", True), (said, "no", "Nobody knows.", False),
     (said, "北京", "首都是北京。", True), (said, "", "Anything.", False), (agrees, "", "Anything.", False),
     (agrees, "the area of West Frisia", "It was in THE AREA of West-Frisia.", True),
     (agrees, "must never be opened", "It must be opened.", False), (agrees, "22 days", "2 days", False),
     (agrees, "an iron–nickel alloy", "It is made of iron and nickel.", False), (agrees, "3 to 5", "5 to 3", False)],
)  # fmt: skip
def test_a_run_is_said_in_whole_words_and_who_says_all_of_them_in_order_agrees(
    has: Callable[[str, str], bool], run: str, text: str, is_so: bool
) -> None:
    assert has(run, text) is is_so


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
