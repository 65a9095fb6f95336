"""What attackers of the server found, each as it was done."""

from __future__ import annotations

import errno
import json
import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import TEXT, Slow
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.server import timeouts
from wim_edge.server.allowed_files import AllowedFolders
from wim_edge.server.openai.routing import MessagePart, MessageTurn, as_request
from wim_edge.server.question import split_question
from wim_edge.worker import Worker


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_no_other_file_is_read_whatever_is_swapped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for one, text in ((folder / "sub", "inside"), (outside, "secret")):
        one.mkdir(parents=True)
        (one / "a.txt").write_text(text)
    folders = AllowedFolders([folder])
    assert folders.read("sub/a.txt")[1] == b"inside"
    resolved = Path.resolve

    def swap(self: Path, strict: bool = False) -> Path:
        found = resolved(self, strict=strict)
        if what == "folder":
            (folder / "sub").rename(tmp_path / "away")
            (folder / "sub").symlink_to(outside)
        else:
            (folder / "sub" / "a.txt").unlink()
            if what == "file":
                (folder / "sub" / "a.txt").symlink_to(outside / "a.txt")
            else:
                os.mkfifo(folder / "sub" / "a.txt")
        return found

    monkeypatch.setattr(Path, "resolve", swap)
    with pytest.raises(InvalidRequestError, match="no file of a folder"):
        folders.read("sub/a.txt")


def test_names_that_are_no_utf8(client: Client, folder: Path) -> None:
    odd = os.path.join(os.fsencode(folder), b"b\xffd.txt")
    try:
        with open(odd, "wb") as file:
            file.write(b"Some text.")
    except OSError:
        pytest.skip("the file system refuses such a name")
    (folder / "good.txt").symlink_to(os.fsdecode(odd))
    assert client.post("/api/documents/named", json={"path": str(folder / "good.txt")}).status_code == 400


def test_a_folder_whose_name_is_no_utf8(make: Callable[..., Any], tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"f\xff")))
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("the file system refuses such a name")
    with serving(make(folders=[odd])) as address, Client(base_url=address) as client:
        assert "\ufffd" in client.ok(client.get("/api/status"))["folders"][0]


@pytest.mark.parametrize("body", [
    lambda: {"messages": [{"role": "user", "content": [1] * 500_000}]},
    lambda: {"messages": [{"role": "user", "content": [{}] * 500_000}]},
    lambda: {"messages": [{}] * 500_000},
    lambda: {"messages": [{"role": "user", "content": "a"}], "stop": [1] * 500_000},
    lambda: {"messages": [{"role": "user", "content": "a"}], "wim_edge": {str(n): 1 for n in range(200_000)}},
])  # fmt: skip
def test_a_million_mistakes_are_one(client: Client, body: Callable[[], dict[str, Any]]) -> None:
    begun = time.process_time()
    assert client.post("/v1/chat/completions", json=body()).status_code == 422
    assert time.process_time() - begun < 10


def test_unknown_fields_by_the_thousand(client: Client) -> None:
    body = {"documents": [1], "question": "a?", **{str(n): 1 for n in range(200_000)}}
    response = client.post("/api/ask", json=body)
    assert response.status_code == 422
    assert "fields" in response.json()["error"]["message"]


def test_a_book_of_short_lines_is_split_at_once() -> None:
    begun = time.process_time()
    body, question = split_question("Ab c\n" * 800_000 + "Who is it?")
    assert time.process_time() - begun < 5
    assert question.endswith("Who is it?")
    assert len(body) + len(question) > 3_999_000
    assert split_question("One. Two is it. Who may end it?")[1] == "Who may end it?"
    message = MessageTurn("user", (MessagePart("word " * 9000 + "Why?"),))
    found = as_request([message], lambda text: len(text.split()), read=None)
    assert found.question.endswith("Why?")


def test_a_document_is_loaded_once_however_often_it_is_named(client: Client) -> None:
    number = client.upload()["id"]
    asked = client.question(documents=(number,) * 60)
    assert client.wait(asked["id"])["state"] == "done"
    started = next(e for e in client.events(f"/api/questions/{asked['id']}/events") if e["type"] == "reading.started")
    assert len(started["documents"]) == 1
    part = {"type": "file", "file": {"file_id": f"file-{number}"}}
    body = {"messages": [{"role": "user", "content": [part] * 100}]}
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 400
    assert "100 files" in response.json()["error"]["message"]


def test_half_a_head_is_not_waited_for_on_a_kept_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "SECONDS", 0.5)
    host, port = str(client.base_url).removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as held:
        held.sendall(b"GET /api/status HTTP/1.1\r\nHost: evil\r\n\r\n")
        assert b"403" in held.recv(65536)
        begun = time.monotonic()
        held.sendall(b"G")
        while held.recv(65536):
            pass
        assert time.monotonic() - begun > 0.3


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


def test_a_question_that_the_disk_does_not_let_go_of_is_still_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = client.question("When?", (client.upload()["id"],))["id"]
    client.wait(number, "done")
    unlink = Path.unlink

    def refused(self: Path, missing_ok: bool = False) -> None:
        if self.suffix == ".json":
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    answer = client.delete(f"/api/questions/{number}")
    assert answer.status_code == 503
    assert "Read-only file system" in answer.json()["error"]["message"]
    assert client.asked(number)["id"] == number
    monkeypatch.undo()
    assert client.delete(f"/api/questions/{number}").status_code == 204


def test_a_damaged_document_is_listed_and_its_text_not_told(client: Client, tmp_path: Path) -> None:
    good, bad = client.upload("a.txt", "Nothing is wrong here."), client.upload("b.txt", "A secret is told here.")
    (path,) = tmp_path.glob("home/libraries/given/documents.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE document SET text = CAST(x'ff' || CAST(text AS BLOB) AS TEXT) WHERE id = ?", (bad["id"],))
    db.close()
    assert [one["id"] for one in client.ok(client.get("/api/documents"))] == [good["id"], bad["id"]]
    client.ok(client.get(f"/api/documents/{good['id']}"))
    response = client.get(f"/api/documents/{bad['id']}")
    assert response.status_code == 503
    assert "secret" not in response.text


def test_other_programs_cookies_put_nobody_out(make: Callable[..., Any]) -> None:
    with serving(make(token="sekret")) as address, Client(base_url=address) as client:
        for others in ('foo={"a":1}; ', "a,b=1; ", "wim-edge-token=x; "):
            assert client.get("/api/status", headers={"cookie": others + "wim-edge-token=sekret"}).status_code == 200
        assert client.get("/api/status", headers={"cookie": "wim-edge-token=sekre"}).status_code == 401


def test_a_download_that_nobody_ever_watched_stops(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge import catalog
    from wim_edge.server import models

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
    monkeypatch.setattr(models, "_SOON", 0.3)
    host, port = str(client.base_url).removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port))) as gone:
        gone.sendall(f"POST /api/models/qwen3-4b/pull HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert going.wait(60)
    assert stopped.wait(60)


def test_the_server_ends_while_it_is_watched(make: Callable[..., Any], model: Slow, caplog: Any) -> None:
    app = make()
    with serving(app) as address, Client(base_url=address, timeout=30) as client:
        client.upload()
        model.seconds = 0.05
        with client.stream("POST", "/api/ask", json={"documents": [1], "question": "Which?"}) as response:
            lines = response.iter_lines()
            next(lines)
            app.state.service.close()
            assert any("cancelled" in line for line in lines)
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]


# The worker

@pytest.mark.parametrize("line", ["[" * 200_000, '{"id":1,"do":"judge","segment":Infinity,"accepted":true}',
                                  '{"id":1,"do":"ask","question":"a","documents":["-"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":["/"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":[],"settings":{"model":["a"]}}',
                                  ])  # fmt: skip
def test_the_worker_lives_on_after_any_line(model: Slow, line: str) -> None:
    import io

    from tests.server.slow import SMALL
    from wim_edge import Runtime
    from wim_edge.server.worker_protocol import serve

    model.seconds = 0.01
    ask = json.dumps({"id": 1, "do": "ask", "question": "Which?", "documents": [{"name": "a", "text": TEXT}]})
    out = io.StringIO()

    def lines() -> Any:
        yield ask
        yield line
        yield ask.replace('"id": 1', '"id": 2')
        while not any(json.loads(told)["id"] == 2 and "finished" in told for told in out.getvalue().splitlines()):
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=model))
    told = [json.loads(one) for one in out.getvalue().splitlines()]
    assert any(one["type"] == "error" and one["error"] == "InvalidRequestError" for one in told)
    assert [one["id"] for one in told if one["type"] == "answer.finished"] == [1, 2]


def test_a_worker_killed_in_the_middle_of_a_line() -> None:
    dying = "import os,sys; sys.stdin.readline(); os.write(1, b'{\"id\": 1, \"ty'); os.kill(os.getpid(), 9)"
    with Worker(command=[sys.executable, "-c", dying]) as worker, pytest.raises(EngineError, match="signal 9"):
        list(worker.stream("a.txt", "What?"))
