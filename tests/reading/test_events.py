"""Events out of JSON are what went in; a stream of them that is abandoned, never begun, or held by nobody."""

from __future__ import annotations

import gc
import json
from dataclasses import FrozenInstanceError, fields

import pytest

from tests.reading.story import SMALL, TEXT, reply, run
from tests.server import slow
from wim_edge import Document, Runtime, events
from wim_edge.errors import InvalidRequestError
from wim_edge.testing import FakeModel


def test_every_event_comes_out_of_json_as_it_went_in() -> None:
    with Runtime(slow.SMALL, model=slow.Slow()) as runtime:
        document = Document("story.txt", slow.TEXT)
        found = [*runtime.stream(document, "Which colour?"), *runtime.complete("Once", top_logprobs=2)]
    assert len({type(event) for event in found}) > 10
    for event in found:
        assert events.from_dict(json.loads(event.to_json())) == event


def test_events_are_frozen_and_have_the_documented_json() -> None:
    found = run(FakeModel(reply))
    assert {event.type for event in found} <= {kind.type for kind in events.EVENTS}
    with pytest.raises(FrozenInstanceError):
        found[0].tokens = 3  # type: ignore[attr-defined, misc]
    for event in found:
        data = json.loads(event.to_json())
        assert list(data) == ["type", *(field.name for field in fields(event))]  # of which test_docs finds each
        assert data["type"] == event.type
    assert list(data["usage"]) == [field.name for field in fields(events.Usage)]


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert events.from_dict({"type": "warning", "text": "x", "colour": 1}) == events.Warning("x")


@pytest.mark.parametrize(("change", "place"), [
    ({"type": "nothing"}, "no event is called 'nothing'"),
    ({"text": 5}, r"\$\.text"),
    ({"segments": True}, r"\$\.segments"),
    ({"span": [1]}, r"\$\.span"),
    ({"status": "perhaps"}, r"\$\.status"),
    ({"usage": {"seconds": {"total": "1"}}}, r"\$\.usage"),
])  # fmt: skip
def test_a_value_of_another_type_is_named_with_its_place(change: dict[str, object], place: str) -> None:
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    answer = events.AnswerFinished("blue", "stop", "wim", "m", (), usage)
    with pytest.raises(ValueError, match=place):
        events.from_dict({**answer.to_dict(), **change})


@pytest.mark.parametrize("n_events", [0, 1, 4])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_stream_that_is_closed_or_dropped_frees_everything(n_events: int, is_closed: bool) -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        stream = runtime.stream(Document("d", TEXT), "Which colour?")
        for _ in range(n_events):
            next(stream)
        with pytest.raises(InvalidRequestError, match="another question"):
            runtime.stream(Document("d", TEXT), "Which colour?")
        if is_closed:
            stream.close()  # type: ignore[attr-defined]
        del stream
        gc.collect()
        assert not model.contexts[0].live
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"
