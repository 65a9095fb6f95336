"""A stream of events that is abandoned, never begun, or held by nobody."""

from __future__ import annotations

import gc

import pytest

from tests.reading.story import SMALL, TEXT, reply
from wim_edge import Document, Runtime
from wim_edge.errors import InvalidRequestError
from wim_edge.testing import FakeModel


def test_abandoning_the_iterator_frees_everything() -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        stream = runtime.stream(Document("d", TEXT), "Which colour?")
        for _ in range(4):
            next(stream)
        with pytest.raises(InvalidRequestError, match="another question"):
            runtime.stream(Document("d", TEXT), "Which colour?")
        stream.close()  # type: ignore[attr-defined]
        assert not model.contexts[0].live
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"


def test_a_stream_never_begun_frees_everything() -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        stream = runtime.stream(Document("d", TEXT), "Which colour?")
        stream.close()  # type: ignore[attr-defined]
        assert not model.contexts[0].live
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"


def test_a_stream_that_nobody_holds_ends() -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        stream = runtime.stream(Document("d", TEXT), "Which colour?")
        next(stream)
        del stream
        gc.collect()
        assert not model.contexts[0].live
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"
