"""The API against its own description: every request that it may get, right or wrong, is answered, never with 5xx."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.server.conftest import Client

pytestmark = pytest.mark.real
OF_EVENTS = 5


def test_all_is_described(client: Client) -> None:
    found = client.ok(client.get("/api/openapi.json"))
    for path, methods in found["paths"].items():
        for method, told in methods.items():
            assert told.get("description"), (method, path)
            assert told["tags"], (method, path)
            assert "404" in told["responses"], (method, path)
            for status, response in told["responses"].items():
                if status != "204":
                    assert response["content"], (method, path, status)
                if status >= "400":
                    assert list(response["content"]) == ["application/json"], (method, path, status)


def test_streams_hold_events_that_are_described(client: Client) -> None:
    found = client.ok(client.get("/api/openapi.json"))
    streams = [
        content["itemSchema"]["properties"]["data"]
        for methods in found["paths"].values()
        for told in methods.values()
        for response in told["responses"].values()
        for kind, content in response.get("content", {}).items()
        if kind == "text/event-stream"
    ]
    of_events = [one for one in streams if "contentSchema" in one]
    assert (len(of_events), len(streams)) == (OF_EVENTS, OF_EVENTS + 2)  # and OpenAI's chunks
    for name in found["components"]["schemas"]["Event"]["discriminator"]["mapping"].values():
        schema = found["components"]["schemas"][name.rpartition("/")[2]]
        Draft202012Validator.check_schema(schema)
        assert {"const"} == set(schema["properties"]["type"])


@pytest.mark.parametrize("examples", [12, pytest.param(100, marks=pytest.mark.attack)])
def test_hostile_requests_get_answers(client: Client, examples: int) -> None:
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi import checks

    client.upload()
    client.wait(client.question()["id"])
    schema = schemathesis.openapi.from_url(f"{client.base_url}/api/openapi.json")
    schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    conforms = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]
    asked = 0

    from hypothesis import HealthCheck, given, settings

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/pull",)):
            continue  # it would fetch

        @given(case=operation.as_strategy())
        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None,
                  derandomize=True)  # fmt: skip
        def send(case: Any) -> None:
            nonlocal asked
            asked += 1
            response = case.call(timeout=30)
            assert response.status_code < 500, (case.as_curl_command(), response.text)
            case.validate_response(response, checks=conforms)

        send()
    assert asked >= 16 * examples  # what cannot be sent is not
    assert client.ok(client.get("/api/status"))["cpu_cores"] >= 1
