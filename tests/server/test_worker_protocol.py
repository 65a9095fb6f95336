"""The lines of the worker: any of them is answered."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime
from wim_edge.server.worker_protocol import serve


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("line", ["[" * 200_000, "[]", '{"id":1,"do":"judge","segment":Infinity,"accepted":true}',
                                  '{"id":1,"do":"ask","question":"a","documents":["-"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":["/"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":[],"settings":{"model":["a"]}}',
                                  ])  # fmt: skip
def test_the_worker_lives_on_after_any_line(model: Slow, line: str) -> None:
    model.seconds = 0.01
    ask = json.dumps({"id": 1, "do": "ask", "question": "Which?", "documents": [{"name": "a", "text": TEXT}]})
    out = io.StringIO()

    def lines() -> Any:
        yield ask
        yield line
        yield ask.replace('"id": 1', '"id": 2')
        while not any(json.loads(told)["id"] == 2 and "finished" in told for told in out.getvalue().splitlines()):
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=model))
    told = [json.loads(one) for one in out.getvalue().splitlines()]
    assert any(one["type"] == "error" and one["error"] == "InvalidRequestError" for one in told)
    assert [one["id"] for one in told if one["type"] == "answer.finished"] == [1, 2]


def test_lines_that_are_no_requests_are_answered(story: Path) -> None:
    asked = [{"id": 1, "do": "ask"}, {"id": 2, "do": "dance"}, {"id": 9, "do": "cancel"},
             {"id": 3, "do": "ask", "documents": [{}], "question": "a?"},
             {"id": 4, "do": "complete", "prompt": "Once"}]  # fmt: skip
    requests = ["no json", "[]", "3", *map(json.dumps, asked)]
    out = io.StringIO()

    def lines() -> Any:
        yield from requests
        while '"completion.finished"' not in out.getvalue():
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=Slow()))
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    errors = [(one["id"], one["error"]) for one in told if one["type"] == "error"]
    assert errors == [(number, "InvalidRequestError") for number in (None, None, None, 1, 2, 3)]
    assert {one["id"] for one in told if one["type"].startswith("completion")} == {4}


@pytest.mark.parametrize(("request_", "message"), [
    ({"do": "ask"}, "documents is missing"),
    ({"do": "ask", "documents": "a.txt", "question": "a?"}, "documents is 'a.txt'"),
    ({"do": "ask", "documents": [{"name": "a", "text": 5}], "question": "a?"}, "documents[0].text is 5"),
    ({"do": "ask", "documents": [], "question": ["a?"]}, "question is ['a?']"),
    ({"do": "ask", "documents": [], "question": "a?", "read_on": "no"}, "read_on is 'no'"),
    ({"do": "ask", "documents": [], "question": "a?", "library": 5}, "library is 5"),
    ({"do": "complete", "prompt": [["user"]]}, "prompt[0] is ['user']"),
    ({"do": "complete", "prompt": "Once", "top_logprobs": 21}, "top_logprobs is 21"),
])  # fmt: skip
def test_what_is_wrong_with_a_request_is_named(request_: dict[str, Any], message: str) -> None:
    out = io.StringIO()
    line = json.dumps({"id": 1, **request_})
    serve([line], out, SMALL, open_runtime=lambda settings: Runtime(settings, model=Slow()))
    (told,) = map(json.loads, out.getvalue().splitlines())
    assert (told["id"], told["error"], told["message"]) == (1, "InvalidRequestError", message)
    assert told["hint"]


def test_what_is_null_is_as_by_default() -> None:
    out = io.StringIO()
    asked = {"do": "complete", "prompt": "Once", "top_logprobs": None, "settings": None, "judged": None, "more": 1}

    def lines() -> Any:
        yield json.dumps({"id": 1, **asked})
        while '"completion.finished"' not in out.getvalue():
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=Slow()))
    assert "error" not in {json.loads(line)["type"] for line in out.getvalue().splitlines()}


class FullPipe(io.StringIO):
    """Takes five lines, and more only once the host has taken those."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full, self.taken = threading.Event(), threading.Event()

    def flush(self) -> None:
        if self.getvalue().count("\n") == 5:
            self.is_full.set()
            assert self.taken.wait(60)


class Counted(Slow):
    batches = 0

    def context(self, n_ctx: int, *, n_sequences: int = 8) -> Any:
        made = super().context(n_ctx, n_sequences=n_sequences)
        made.on_append = self.count
        return made

    def count(self, _: Any) -> None:
        self.batches += 1


def test_a_host_that_takes_nothing_holds_the_reading_up_and_loses_nothing() -> None:
    ask = json.dumps({"id": 1, "do": "ask", "question": "Which?", "documents": [{"name": "a", "text": TEXT}]})
    out, model = FullPipe(), Counted()

    def lines() -> Iterator[str]:
        yield ask
        end = time.monotonic() + 60
        while '"answer.finished"' not in out.getvalue() and time.monotonic() < end:
            time.sleep(0.01)

    serving = threading.Thread(
        target=serve, args=(lines(), out, SMALL), kwargs={"open_runtime": lambda given: Runtime(given, model=model)},
        daemon=True,
    )  # fmt: skip
    serving.start()
    try:
        assert out.is_full.wait(60)
        batches = model.batches
        time.sleep(0.2)  # in which it would be done
        assert model.batches == batches
    finally:
        out.taken.set()
    serving.join(60)
    assert model.batches > 2 * batches
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one["segment"] for one in told if one["type"] == "segment.read"] == list(range(told[-1]["segments"]))
