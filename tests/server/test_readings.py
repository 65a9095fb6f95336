"""The API's readings: those of all models, and what goes wrong with them."""

from __future__ import annotations

import sqlite3

import pytest

from tests.server.conftest import Client
from wim_edge.library import ReadingStore


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
