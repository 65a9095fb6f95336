"""Which questions need the one before, and how they are completed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wim_edge import Document, Runtime, Settings, events
from wim_edge.followup import Turn, completed, goes_on, last_turn
from wim_edge.testing import FakeModel

MARIE = Turn("Who rented the flat?", "Marie Dubois")


@pytest.mark.parametrize(
    "question",
    [
        "What is the IBAN?", "notice period", "Who signed the contract?", "What is it about?", "房屋租金是多少？",
        "Wer ist der Mieter?", "Were drones used?", "IBAN", "delivery date?  order 4711, from Antwerp, by ship", "",
    ],
)  # fmt: skip
def test_a_question_of_more_or_longer_words_and_a_search_stand_for_themselves(question: str) -> None:
    assert not goes_on(question)
    assert completed(question, MARIE) == question


@pytest.mark.parametrize("question", ["why?", "and in 2022?", "2022?", "und die Kaution?", "为什么？", "لماذا؟"])
def test_a_question_of_few_words_stands_behind_the_one_before(question: str) -> None:
    assert completed(question, MARIE) == f"Who rented the flat? (Marie Dubois) {question}"
    assert completed(question, None) == question


def test_the_last_of_several_turns_says_what_they_are_about() -> None:
    assert last_turn([]) is None
    talk = [Turn("Who rented the flat?", "Marie Dubois"), Turn("and when?", "in May"), Turn("why?")]
    assert last_turn(talk) == Turn("Who rented the flat? (Marie Dubois) and when? (in May) why?")
    other = Turn("What were the costs in 2023?", "4.2")
    assert last_turn([*talk, other]) == other
    assert completed("why?", Turn("Who is it?", "x" * 300)) == "Who is it? why?"


DOCUMENT = Document("lease", "Marie Dubois rented the flat. She moved in on 3 May 2021.")


def settled(says: str, question: str, **changes: object) -> list[events.QuestionSettled]:
    """Returns how a question is asked after `MARIE` by a writer that restates it so."""
    writer = FakeModel(lambda prompt: says if "stands alone" in prompt else "The answer.")
    settings = Settings(save=False).with_changes(**changes)
    with Runtime(settings, model=writer, judge=FakeModel(lambda prompt: "The answer.")) as runtime:
        found = list(runtime.stream(DOCUMENT, question, after=MARIE))
    assert isinstance(found[-1], events.AnswerFinished)
    return [event for event in found if isinstance(event, events.QuestionSettled)]


def test_a_model_that_writes_restates_the_question() -> None:
    (event,) = settled("When did Marie Dubois move in?", "When did she move in?")
    assert (event.question, event.asked_as) == ("When did she move in?", "When did Marie Dubois move in?")


@pytest.mark.parametrize("says", ["When did she move in?", "Who rented the flat?", "What did she move, and when?", ""])
def test_what_it_leaves_as_it_was_is_asked_as_it_was(says: str) -> None:
    assert not settled(says, "When did she move in?")


def test_a_few_words_that_it_does_not_restate_stand_behind_the_turn_before() -> None:
    (event,) = settled("And when?", "and when?")
    assert event.asked_as == "Who rented the flat? (Marie Dubois) and when?"
    assert not any(settled(f"And {one}", "and when?", short_answer="writer") for one in ("when.", "at what time?"))


def test_a_value_that_nobody_named_is_not_put_into_a_question() -> None:
    assert not any("2031" in event.asked_as for event in settled("When did she move in, in 2031?", "When in 2021?"))


def test_without_a_model_that_writes_it_stands_behind_the_turn_before() -> None:
    with Runtime(Settings(save=False), model=FakeModel()) as runtime:
        first = next(iter(runtime.stream(DOCUMENT, "and when?", after=MARIE)))
    assert isinstance(first, events.QuestionSettled)
    assert first.asked_as == "Who rented the flat? (Marie Dubois) and when?"


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_completed_and_nothing_of_it_is_lost(last: str, question: str, short: str) -> None:
    assert completed(question, Turn(last, short)).strip().endswith(question.strip())
    assert completed(question, None) == question
