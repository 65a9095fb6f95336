"""The classifier's verdict on a margin, read from the logits."""

from __future__ import annotations

from tests.reading.story import SMALL, TEXT, of_type, recording, reply, run
from wim_edge import Document, Runtime, events
from wim_edge.reading.relevance.verdict import verdict_tokens
from wim_edge.testing import FakeModel


def test_the_classification_preamble_is_prefilled_once() -> None:
    model = FakeModel(reply)
    run(model)
    classifier = 1  # the first sequence made, before the reading
    truncated = {to for what, sequence, to in model.history if what == "truncate" and sequence == classifier}
    assert len(truncated) == 1
    assert truncated.pop() > 20


def test_the_classifier_shows_the_question_and_the_margin_apart() -> None:
    model, prompts = recording()
    with Runtime(SMALL, model=model) as runtime:
        runtime.ask(Document("d", TEXT), "What is [[wim-edge:margin]] here?")
    judged = [prompt for prompt in prompts if "YES or NO" in prompt]
    assert all("Question: What is [[wim-edge:margin]] here?\n" in prompt for prompt in judged)
    assert all("Note: seen: " in prompt for prompt in judged)


def test_an_empty_margin_is_never_relevant() -> None:
    found = run(FakeModel(lambda prompt: "YES" if "YES or NO" in prompt else " \n" * 50))
    assert {(event.text, event.relevant) for event in of_type(found, events.MarginJudged)} == {("", False)}


def test_the_verdict_looks_at_words_that_tell_yes_from_no() -> None:
    model = FakeModel()
    yes, no = verdict_tokens(model, "yes"), verdict_tokens(model, "no")
    assert {model.text([token]) for token in yes} >= {"YES", "Yes", "yes"}
    assert {model.text([token]) for token in no - yes} == {"NO", "No", "no"}
