"""The worker's lines as a JSON Schema: what it says and hears is described."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime
from wim_edge.server.worker_protocol import CONTROLS, REQUESTS, serve
from wim_edge.server.worker_schema import PROTOCOL, worker_schema

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


def test_every_line_of_the_worker_is_described(model: Slow) -> None:
    model.seconds = 0.0
    out = io.StringIO()

    def lines() -> Iterator[str]:
        yield json.dumps({"id": 1, "do": "ask", "documents": [DOCUMENT], "question": "Which?"})
        yield json.dumps({"id": 2, "do": "read", "documents": [DOCUMENT]})
        yield json.dumps({"id": 3, "do": "complete", "prompt": "Once"})
        yield json.dumps({"id": 4, "do": "dance"})
        while sum(one in out.getvalue() for one in ("answer.fin", "reading.fin", "completion.fin")) < 3:
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=model))
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len({one["type"] for one in told}) > 8
    for one in told:
        assert is_valid(one, "event"), one
