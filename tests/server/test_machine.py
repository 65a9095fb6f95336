"""The state of the machine, and its readings: those of all models, and what goes wrong with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import Slow
from wim_edge import Runtime, Settings
from wim_edge.library import ReadingStore
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


def test_a_reading_that_was_removed_is_read_again(client: Client) -> None:
    client.upload()
    assert client.ok(client.get("/api/readings")) == []
    first = client.events("/api/read", "POST", json={"documents": [1]})[-1]
    (one,) = client.ok(client.get("/api/readings"))
    assert (one["title"], one["model"], one["shape"]) == ("story", "fake", "deep")
    assert one["tokens"] == one["of_tokens"] == first["tokens"]
    assert one["bytes"] > 0
    assert [client.delete(f"/api/readings/{one['id']}").status_code for _ in range(2)] == [204, 404]
    again = client.events("/api/read", "POST", json={"documents": [1]})[-1]
    assert (again["usage"]["reused_tokens"], again["usage"]["prefilled_tokens"]) == (0, first["tokens"])


def test_numbers_that_are_none(client: Client) -> None:
    missing = client.delete("/api/readings/7")
    assert missing.status_code == 404
    assert "there is no reading 7" in missing.json()["error"]["message"]
    for number in ("0", "-1", "x", str(2**63)):
        assert client.delete(f"/api/readings/{number}").status_code == 422


def test_a_locked_index_is_told_in_our_form(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    client.upload()
    client.events("/api/read", "POST", json={"documents": [1]})
    (one,) = client.ok(client.get("/api/readings"))
    monkeypatch.setattr(ReadingStore, "remove", locked)
    removed = client.delete(f"/api/readings/{one['id']}").json()["error"]
    assert (removed["type"], removed["message"]) == (
        "LibraryError", "the reading cannot be removed: database is locked",
    )  # fmt: skip
    monkeypatch.setattr(ReadingStore, "readings", locked)
    listed = client.get("/api/readings").json()["error"]
    assert (listed["type"], listed["hint"]) == ("LibraryError", "Ask again.")
    assert "cannot be listed: database is locked" in listed["message"]
