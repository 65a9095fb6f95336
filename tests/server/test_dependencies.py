"""What the routes share: a request's options, and threads of their own for what waits for the disk."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.conftest import Client, serving
from tests.server.slow import Slow
from wim_edge import Runtime


def test_options_change_the_reading_and_only_that_one(client: Client) -> None:
    client.upload()

    def pattern(**options: Any) -> str:
        number = client.question("Which?", **options)["id"]
        client.wait(number)
        return str(client.events(f"/api/questions/{number}/events")[-1]["pattern"])

    assert [pattern(pattern="rag"), pattern(), pattern(pattern="llm"), pattern()] == ["rag", "wim", "llm", "wim"]
    number = client.question(answer_tokens=2)["id"]
    client.wait(number)
    assert client.events(f"/api/questions/{number}/events")[-1]["finish_reason"] == "length"
    for wrong in ({"pattern": "best"}, {"colour": "blue"}, {"answer_tokens": 0}, {"seed": -1}):
        body = {"documents": [1], "question": "a?", "options": wrong}
        assert client.post("/api/questions", json=body).status_code == 422


def test_no_other_model_is_opened_than_those_of_the_catalog(make: Callable[..., Any], model: Slow) -> None:
    opened: list[str | None] = []

    def open_runtime(settings: Any) -> Runtime:
        opened.append(settings.model)
        return Runtime(settings) if settings.model else Runtime(settings, model=model)

    with serving(make(open_runtime=open_runtime)) as address, Client(base_url=address, timeout=30) as client:
        client.upload()
        assert client.wait(client.question()["id"])["state"] == "done"
        for name in ("no-such-model", "/etc/passwd", "qwen3-4b", "../fake"):
            body = {"documents": [1], "question": "a?", "options": {"model": name}}
            response = client.post("/api/questions", json=body)
            assert response.status_code == 404
            assert response.json()["error"]["type"] == "ModelNotFoundError"
        assert client.ok(client.get("/api/status"))["model"] == "fake"  # it is still loaded
        assert client.wait(client.question("Again?", model="fake")["id"])["state"] == "done"
        assert opened == [None]  # opened once


def test_unknown_fields_by_the_thousand(client: Client) -> None:
    body = {"documents": [1], "question": "a?", **{str(n): 1 for n in range(200_000)}}
    response = client.post("/api/ask", json=body)
    assert response.status_code == 422
    assert "fields" in response.json()["error"]["message"]


def test_a_locked_library_keeps_no_one_else_out(client: Client, tmp_path: Path) -> None:
    client.upload()
    (path,) = tmp_path.glob("home/libraries/given/documents.sqlite")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    codes: list[int] = []

    def upload(number: int) -> None:
        with Client(base_url=client.base_url, timeout=60) as other:
            codes.append(other.post("/api/documents", files={"file": (f"{number}.txt", b"text")}).status_code)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(45)]
    for thread in threads:
        thread.start()
    while not codes:  # the line is full, or one has waited for the lock in vain
        time.sleep(0.01)
    client.ok(client.get("/v1/models"))
    assert len(codes) < len(threads)  # answered while uploads wait
    db.execute("ROLLBACK")
    db.close()
    for thread in threads:
        thread.join()
    assert set(codes) <= {201, 429, 503}
    assert 429 in codes
