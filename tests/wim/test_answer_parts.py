"""Answers in parts, and the values in an answer that stand in no passage."""

from __future__ import annotations

import pytest

from tests.wim.mill import MILL, NONE, SURE, ask
from wim_edge import Document, Runtime, Settings, events
from wim_edge.testing import FakeModel
from wim_edge.wim.answer_parts import NOT_SAID, Answer


def test_a_question_in_two_parts_is_answered_in_two() -> None:
    def reply(prompt: str) -> str:
        question = prompt.rsplit("Question: ", 1)[-1]
        return "1921" if question.startswith("When") else "Dr. A. Brandt"

    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(reply)) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(Document("mill.txt", MILL), "Who bought the mill, and when?")
    lines, quoted = answer.text.split("\n\n")
    assert lines == "Who bought the mill: Dr. A. Brandt\nwhen: 1921"
    assert quoted == "“Dr. A. Brandt bought it in 1921.”"
    assert answer.short == "Dr. A. Brandt; 1921"
    assert answer.span is not None
    assert MILL[slice(*answer.span)] == "Dr. A. Brandt"
    assert len(answer.quotes) == 1


def test_of_two_parts_that_are_not_there_neither_is_answered() -> None:
    answer = ask(MILL, "Who sold the mill, and where?", "1921", NONE)
    assert answer.status == "not_found"
    assert answer.text.startswith(NOT_SAID)


def test_of_two_names_a_list_has_both() -> None:
    text = "Apologies came from Leonard Voss and Mary Tranter, who were ill."
    assert ask(text, "Which councillors were absent?", "Leonard Voss").short == "Leonard Voss and Mary Tranter"


def test_an_answer_in_parts_from_beside_the_best_passage_stands_when_nothing_better_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "The red team was led by Mary Shaw."
    quote = events.Quote(said, "a.txt", None, None, (0, len(said)))
    answered = Answer("Mary Shaw", short="Mary Shaw", quotes=(quote,), support=0.9)
    monkeypatch.setattr("wim_edge.wim.answer.answer_in_parts", lambda *_: answered)
    found = [Document("a.txt", said), Document("b.txt", "The red team won 12 games.")]
    found += [Document(f"{n}.txt", f"The weather of day {n} was fine.") for n in range(6)]
    question = "Who led the red team, and how many games did the red team win?"
    settings = Settings(pattern="wim-shallow", prose=False, save=False, relevance_threshold=0.99)
    with Runtime(settings, model=FakeModel(lambda prompt: "12")) as runtime:
        first = runtime.ask(found, question)
        told = list(runtime.stream(found, question, read_on=True))
    last = told[-1]
    assert isinstance(last, events.AnswerFinished)
    for answer in (first, last):
        assert [source.document for source in answer.sources] == ["a.txt", "b.txt"]
    assert last.read_segments > first.read_segments
    assert not any(isinstance(event, events.AnswerRevised) for event in told)
