"""The worker's lines as a JSON Schema: what it says and hears is described."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.server.slow import TEXT, answers_to
from wim_edge.server.worker_protocol import CONTROLS, REQUESTS
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


def test_every_line_of_the_worker_is_described() -> None:
    asked = [{"do": "ask", "documents": [DOCUMENT], "question": "Which?"}, {"do": "read", "documents": [DOCUMENT]},
             {"do": "complete", "prompt": "Once"}, {"do": "dance"}]  # fmt: skip
    told = answers_to([json.dumps({"id": 1, **one}) for one in asked], finished=3)
    assert len({one["type"] for one in told}) > 8
    assert [one for one in told if not is_valid(one, "event")] == []
