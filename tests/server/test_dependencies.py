"""What the routes share: a request's options, and threads of their own for what waits for the disk."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import Slow, until
from wim_edge import Runtime
from wim_edge.server import dependencies


def test_options_change_the_reading_and_only_that_one(client: Client) -> None:
    client.upload()

    def pattern(**options: Any) -> str:
        number = client.question("Which?", **options)["id"]
        return str(client.told(number)[-1]["pattern"])

    assert [pattern(pattern="rag"), pattern(), pattern(pattern="llm"), pattern()] == ["rag", "wim", "llm", "wim"]
    number = client.question(answer_tokens=2)["id"]
    assert client.told(number)[-1]["finish_reason"] == "length"
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


def test_a_locked_library_keeps_no_one_else_out(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies, "_MAX_WRITING", 2)
    client.upload()
    (path,) = tmp_path.glob("home/libraries/given/documents.sqlite")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    codes: list[int] = []

    def upload(number: int, other: Client) -> None:
        with other:
            codes.append(other.post("/api/documents", files={"file": (f"{number}.txt", b"text")}).status_code)

    others = [Client(base_url=client.base_url, timeout=60) for _ in range(7)]  # slow: made before the first one waits
    threads = [threading.Thread(target=upload, args=one) for one in enumerate(others)]
    for thread in threads:
        thread.start()
    until(lambda: codes)  # the line is full, or one has waited for the lock in vain
    client.ok(client.get("/v1/models"))
    assert len(codes) < len(threads)  # answered while uploads wait
    db.execute("ROLLBACK")
    db.close()
    for thread in threads:
        thread.join()
    assert set(codes) <= {201, 429, 503}
    assert 429 in codes


def test_a_client_that_names_its_shelf_sees_no_other(client: Client) -> None:
    mine, other = {"wim-edge-shelf": "mine"}, {"wim-edge-shelf": "another"}
    client.upload("common.txt", "The ferry sails at noon.")
    client.ok(client.post("/api/documents", files={"file": ("my.txt", b"My own words.")}, headers=mine))
    for headers, name in (({}, "common"), (mine, "my")):
        assert [one["title"] for one in client.ok(client.get("/api/documents", headers=headers))] == [name]
    assert client.ok(client.get("/api/documents", headers=other)) == []
    assert client.get("/api/documents/1", headers=other).status_code == 404

    asked = client.ok(client.post("/api/questions", json={"documents": [1], "question": "Whose?"}, headers=mine))
    until(lambda: client.ok(client.get(f"/api/questions/{asked['id']}", headers=mine))["state"] == "done")
    assert client.ok(client.get("/api/questions")) == []
    for path in ("", "/events"):
        assert client.get(f"/api/questions/{asked['id']}{path}").status_code == 404
    assert [one["id"] for one in client.ok(client.get("/api/questions", headers=mine))] == [asked["id"]]
    assert client.delete(f"/api/questions/{asked['id']}", headers=other).status_code == 404
    assert client.ok(client.get("/api/libraries", headers=other)) == []  # shelves are no libraries to be asked


def test_a_shelf_is_there_after_a_restart(make: Callable[..., Any]) -> None:
    mine = {"wim-edge-shelf": "../x;? %00"}
    for round_trip in range(2):
        with serving(make()) as address, Client(base_url=address) as client:
            if not round_trip:
                client.ok(client.post("/api/documents", files={"file": ("my.txt", b"My own words.")}, headers=mine))
            assert len(client.ok(client.get("/api/documents", headers=mine))) == 1


def test_each_browser_has_its_own_shelf_where_others_may_come(make: Callable[..., Any]) -> None:
    with (
        serving(make(token="tok-en")) as address, Client(base_url=address) as first,
        Client(base_url=address) as second, Client(base_url=address) as api,
    ):  # fmt: skip
        for one in (first, second):
            assert one.get("/?token=tok-en").status_code == 303
        shelf = first.cookies["wim-edge-shelf"]
        first.get("/?token=tok-en")  # who comes again keeps it
        assert first.cookies["wim-edge-shelf"] == shelf != second.cookies["wim-edge-shelf"]
        first.upload("mine.txt", "My own words.")
        assert len(first.ok(first.get("/api/documents"))) == 1
        assert second.ok(second.get("/api/documents")) == []
        assert api.ok(api.get("/api/documents", headers={"authorization": "Bearer tok-en"})) == []


@pytest.mark.parametrize(
    ("judge", "status"), [("smollm2-135m", 202), ("self", 202), ("qwen3-8b", 404), ("/etc/passwd", 404)]
)
def test_a_judge_is_a_model_on_this_disk(client: Client, judge: str, status: int) -> None:
    client.upload()
    body = {"documents": [1], "question": "Which?", "options": {"judge": judge, "first": True}}
    assert client.post("/api/questions", json=body).status_code == status
