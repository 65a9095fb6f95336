"""The API against its own description: every request that it may get, right or wrong, is answered, never with 5xx."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.conftest import Client

schemathesis = pytest.importorskip("schemathesis")


def test_all_is_described(client: Client) -> None:
    found = client.ok(client.get("/api/openapi.json"))
    for path, methods in found["paths"].items():
        for method, told in methods.items():
            assert told.get("description"), (method, path)
            assert told["tags"], (method, path)
            assert "404" in told["responses"], (method, path)
    schemas = found["components"]["schemas"]
    assert {"Asked", "Options", "Shown", "Whole", "ErrorBody"} <= set(schemas)
    assert schemas["Asked"]["properties"]["question"]["examples"]


def test_hostile_requests_get_answers(client: Client) -> None:
    from schemathesis import GenerationMode

    client.upload()
    client.wait(client.question()["id"])
    schema = schemathesis.openapi.from_url(f"{client.base_url}/api/openapi.json")
    schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    asked = 0

    from hypothesis import HealthCheck, given, settings

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(("/pull",)):
            continue  # it would fetch

        @given(case=operation.as_strategy())
        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None,
                  derandomize=True)  # fmt: skip
        def send(case: Any) -> None:
            nonlocal asked
            asked += 1
            response = case.call(timeout=30)
            assert response.status_code < 500, (case.as_curl_command(), response.text)

        send()
    assert asked >= 1000
    assert client.ok(client.get("/api/status"))["cpu_cores"] >= 1
