"""What the machine says that it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.conftest import Client, serving
from tests.server.slow import Slow
from wim_edge import Runtime, Settings
from wim_edge.testing import FakeModel


def test_the_machine_says_what_it_does(client: Client) -> None:
    before = client.ok(client.get("/api/status"))
    assert (before["model"], before["waiting"]) == (None, 0)
    client.upload()
    client.wait(client.question()["id"])
    after = client.ok(client.get("/api/status"))
    assert (after["model"], after["waiting"]) == ("fake", 0)
    assert after["memory_bytes"] > 10**6
    names = [one["name"] for one in client.ok(client.get("/api/models"))]
    assert "smollm2-135m" in names


def test_the_judge_is_named_beside_the_model(make: Callable[..., Any], model: Slow) -> None:
    judged = {"open_runtime": lambda settings: Runtime(settings, model=model, judge=FakeModel(lambda _: "blue"))}
    with serving(make(**judged)) as address, Client(base_url=address, timeout=30) as client:
        assert client.ok(client.get("/api/status"))["judge"] is None
        client.upload()
        client.wait(client.question()["id"])
        assert client.ok(client.get("/api/status"))["judge"] is None  # a deep pattern, and free margins
    shallow = judged | {"settings": Settings(pattern="wim-shallow", answer_tokens=8)}
    with serving(make(**shallow)) as address, Client(base_url=address, timeout=30) as client:
        client.upload()
        client.wait(client.question()["id"])
        status = client.ok(client.get("/api/status"))
        assert (status["model"], status["judge"]) == ("fake", "fake")
        client.wait(client.question("And now?", judge="self")["id"])
        assert client.ok(client.get("/api/status"))["judge"] is None
