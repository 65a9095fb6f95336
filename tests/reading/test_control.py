"""A reading that is stopped early, abandoned, or closed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.reading import island
from tests.reading.story import SMALL, TEXT, of_type, recording, reply, run
from wim_edge import Decision, Document, Runtime, events, stop_after, stop_at
from wim_edge.engine.protocols import Interrupted
from wim_edge.reading.control import Control
from wim_edge.testing import FakeModel


@pytest.mark.parametrize(
    ("policy", "segments"),
    [(stop_after(1), 3), (stop_at(0.9), 3), (lambda margin: Decision.ANSWER, 1)],
    ids=["stop_after", "stop_at", "own"],
)
def test_early_exit_by_policy(policy: Callable, segments: int) -> None:
    found = run(FakeModel(reply), on_margin=policy)
    finished = island.finished(found)
    assert (finished.finish_reason, finished.text) == ("early_exit", "the answer is blue")
    assert len(of_type(found, events.SegmentRead)) <= segments < found[0].segments  # type: ignore[attr-defined]
    assert finished.usage.prefilled_tokens < found[0].tokens  # type: ignore[attr-defined]
    cancelled = run(FakeModel(reply), on_margin=lambda margin: Decision.CANCEL)[-1]
    assert (cancelled.finish_reason, cancelled.text) == ("cancelled", "")  # type: ignore[attr-defined]


def interrupting(wish: str, after: int) -> list[events.Event]:
    """Runs, with a request from inside the evaluation of batch number ``after``."""
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        stream = runtime.stream(Document("d", TEXT), "Which colour?")
        batches = 0

        def on_append(_sequence: object) -> None:
            nonlocal batches
            batches += 1
            if batches == after:
                getattr(runtime, wish)()

        model.contexts[-1].on_append = on_append
        found = list(stream)
        # The runtime answers the next question as if nothing had happened
        assert list(runtime.stream(Document("d", TEXT), "Which colour?"))[-1].finish_reason == "stop"  # type: ignore[attr-defined]
        return found


@pytest.mark.parametrize("after", [5, 9, 14, 21])
def test_answer_now_in_the_middle_of_anything(after: int) -> None:
    found = interrupting("answer_now", after)
    finished = island.finished(found)
    assert (finished.finish_reason, finished.text) == ("early_exit", "the answer is blue")
    assert 0 < finished.usage.prefilled_tokens < found[0].tokens  # type: ignore[attr-defined]


def test_answer_now_before_anything_is_read_invents_nothing() -> None:
    found = interrupting("answer_now", 1)
    assert island.finished(found).finish_reason == "cancelled"
    assert any("nothing to answer from" in e.text for e in of_type(found, events.Warning))


@pytest.mark.parametrize("after", [1, 9, 30])
def test_cancel_in_the_middle_of_anything(after: int) -> None:
    assert island.finished(interrupting("cancel", after)).finish_reason == "cancelled"


def test_answer_now_while_answering_lets_the_answer_go_on() -> None:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        for event in runtime.stream(Document("d", TEXT), "Which colour?"):
            if isinstance(event, events.AnswerDelta):
                runtime.answer_now()
    assert isinstance(event, events.AnswerFinished)
    assert (event.text, event.finish_reason) == ("the answer is blue", "stop")


def test_early_exit_in_the_first_window_answers_from_the_cache() -> None:
    model, prompts = recording(n_ctx_train=900)
    found = run(model, on_margin=lambda margin: Decision.ANSWER)
    assert found[0].windows > 1  # type: ignore[attr-defined]
    assert island.finished(found).text == "the answer is blue"
    assert TEXT[:200] in prompts[-1]


@pytest.mark.parametrize("after", [0, 3, 20])
def test_cancel_while_it_is_planned(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    model, pieces = FakeModel(reply), 0
    tokenized = model.tokenize

    def tokenize(text: str, *, special: bool = False) -> list[int]:
        nonlocal pieces
        if text and text in TEXT * 100:  # not the prompts
            if pieces == after:
                runtime.cancel()
            pieces += 1
        return tokenized(text, special=special)

    monkeypatch.setattr(model, "tokenize", tokenize)
    story = Document("story.txt", TEXT * 100)
    with Runtime(SMALL, model=model) as runtime:
        found = list(runtime.stream(story, "Which colour?"))
        assert [event.type for event in found] == ["warning", "answer.finished"]
        assert island.finished(found).finish_reason == "cancelled"
        assert after < pieces <= after + 1
        monkeypatch.undo()
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"


def test_reading_ahead_is_cancelled_while_it_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeModel(reply)
    with Runtime(SMALL.with_changes(save=True), model=model) as runtime:
        tokenized = model.tokenize
        monkeypatch.setattr(model, "tokenize", lambda text, **more: runtime.cancel() or tokenized(text, **more))
        (finished,) = runtime.read(Document("story.txt", TEXT))
    assert isinstance(finished, events.ReadingFinished)
    assert (finished.tokens, finished.saved_tokens) == (0, 0)


def test_an_answer_under_way_is_stopped_by_cancelling_alone() -> None:
    control = Control()
    control.request(Decision.ANSWER)
    with pytest.raises(Interrupted):
        control.check()
    control.begin_answer()
    control.check()
    control.request(Decision.CANCEL)
    with pytest.raises(Interrupted):
        control.check()
