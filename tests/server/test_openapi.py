"""The API against its own description: every request that it may get, right or wrong, is answered, never with 5xx."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.server.conftest import Client

pytestmark = pytest.mark.real


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


def test_every_shape_has_an_example_that_is_one(client: Client) -> None:
    found = client.ok(client.get("/api/openapi.json"))
    schemas = found["components"]["schemas"]

    def fits(example: Any, schema: Any) -> None:
        Draft202012Validator({**schema, "components": found["components"]}).validate(example)

    bodies: list[dict[str, Any]] = []
    for told in (told for methods in found["paths"].values() for told in methods.values()):
        for one in (told.get("requestBody"), *told["responses"].values()):
            for kind, content in (one or {}).get("content", {}).items():
                if kind == "application/json":
                    bodies.append(content)
                elif kind == "text/event-stream":
                    events = [line[6:] for line in content["example"].splitlines() if line.startswith("data: ")]
                    for event in events:
                        if event != "[DONE]" and "contentSchema" in str(content):
                            fits(json.loads(event), content["itemSchema"]["properties"]["data"]["contentSchema"])
                    assert len(events) > 1
    assert len(bodies) > 100
    for content in bodies:
        schema = content["schema"].get("items", content["schema"])
        named = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else content
        for example in named.get("examples") or [content["example"]]:
            fits(example, schema)


def test_hostile_requests_get_answers(client: Client) -> None:
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
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None,
                  derandomize=True)  # fmt: skip
        def send(case: Any) -> None:
            nonlocal asked
            asked += 1
            response = case.call(timeout=30)
            assert response.status_code < 500, (case.as_curl_command(), response.text)
            case.validate_response(response, checks=conforms)

        send()
    assert asked >= 400  # what cannot be sent is not
    assert client.ok(client.get("/api/status"))["cpu_cores"] >= 1
