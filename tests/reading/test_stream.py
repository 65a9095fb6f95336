"""A stream of events that is abandoned, never begun, or held by nobody."""

from __future__ import annotations

import gc

import pytest

from tests.reading.story import SMALL, TEXT, reply
from wim_edge import Document, Runtime
from wim_edge.errors import InvalidRequestError
from wim_edge.testing import FakeModel


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
