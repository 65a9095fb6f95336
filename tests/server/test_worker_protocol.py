"""The lines of the worker: any of them is answered, and described by a JSON Schema."""

from __future__ import annotations

import io
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

from tests.server.slow import TEXT, Slow, answers_to
from wim_edge.server.worker_protocol import CONTROLS, PROTOCOL, REQUESTS, worker_schema

ASK = json.dumps({"id": 1, "do": "ask", "question": "Which?", "documents": [{"name": "a", "text": TEXT}]})


@pytest.mark.parametrize("line", ["[" * 200_000, "[]", '{"id":1,"do":"judge","segment":Infinity,"accepted":true}',
                                  '{"id":1,"do":"ask","question":"a","documents":["-"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":["/"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":[],"settings":{"model":["a"]}}',
                                  ])  # fmt: skip
def test_the_worker_lives_on_after_any_line(model: Slow, line: str) -> None:
    model.seconds = 0.01
    told = answers_to([ASK, line, ASK.replace('"id": 1', '"id": 2')], finished=2, model=model)
    assert any(one["type"] == "error" and one["error"] == "InvalidRequestError" for one in told)
    assert [one["id"] for one in told if one["type"] == "answer.finished"] == [1, 2]


def test_lines_that_are_no_requests_are_answered() -> None:
    asked = [{"id": 1, "do": "ask"}, {"id": 2, "do": "dance"}, {"id": 9, "do": "cancel"},
             {"id": 3, "do": "ask", "documents": [{}], "question": "a?"},
             {"id": 4, "do": "complete", "prompt": "Once"}]  # fmt: skip
    told = answers_to(["no json", "[]", "3", *map(json.dumps, asked)], finished=1)
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
    (told,) = answers_to([json.dumps({"id": 1, **request_})])
    assert (told["id"], told["error"], told["message"]) == (1, "InvalidRequestError", message)
    assert told["hint"]


def test_null_is_the_default() -> None:
    asked = {"do": "complete", "prompt": "Once", "top_logprobs": None, "settings": None, "judged": None, "more": 1}
    assert "error" not in {one["type"] for one in answers_to([json.dumps({"id": 1, **asked})], finished=1)}


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
    out, model = FullPipe(), Counted()
    with ThreadPoolExecutor() as pool:
        answers = pool.submit(answers_to, [ASK], finished=1, model=model, out=out)
        try:
            assert out.is_full.wait(60)
            batches = model.batches
            time.sleep(0.2)  # in which it would be done
            assert model.batches == batches
        finally:
            out.taken.set()
        told = answers.result()
    assert model.batches > 2 * batches
    assert [one["segment"] for one in told if one["type"] == "segment.read"] == list(range(told[-1]["segments"]))


SCHEMA = worker_schema()
DOCUMENT = {"name": "a", "text": TEXT}


def is_valid(line: object, what: str) -> bool:
    validator = jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{what}"})
    return bool(validator.is_valid(line))


def test_it_is_a_schema_with_a_version() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["protocol"] == PROTOCOL
    told = {one["properties"]["do"]["const"] for one in SCHEMA["$defs"]["request"]["oneOf"]}
    assert told == {*REQUESTS, *CONTROLS}


@pytest.mark.parametrize(("line", "valid"), [
    ({"id": 1, "do": "ask", "documents": ["a.pdf", DOCUMENT], "question": "Who?", "settings": {"n_ctx": 512}}, True),
    ({"id": "a", "do": "read", "documents": [DOCUMENT]}, True),
    ({"id": 1, "do": "complete", "prompt": [["user", "Hello."]]}, True),
    ({"id": 1, "do": "judge", "segment": 3, "accepted": False}, True),
    ({"id": 1, "do": "cancel"}, True),
    ({"id": 1, "do": "ask", "question": "Who?"}, False),
    ({"do": "cancel"}, False),
    ({"id": 1, "do": "dance"}, False),
    ({"id": 1, "do": "judge", "segment": "3", "accepted": False}, False),
])  # fmt: skip
def test_requests(line: dict[str, Any], valid: bool) -> None:
    assert is_valid(line, "request") is valid


def test_every_line_of_the_worker_is_described() -> None:
    asked = [{"do": "ask", "documents": [DOCUMENT], "question": "Which?"}, {"do": "read", "documents": [DOCUMENT]},
             {"do": "complete", "prompt": "Once"}, {"do": "dance"}]  # fmt: skip
    told = answers_to([json.dumps({"id": 1, **one}) for one in asked], finished=3)
    assert len({one["type"] for one in told}) > 8
    assert [one for one in told if not is_valid(one, "event")] == []
