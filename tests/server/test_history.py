"""Questions that were asked: there after a restart or a kill, and gone with their documents."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.server.conftest import Client, serving, types


def test_what_was_asked_is_there_after_a_restart(make: Callable[..., Any], client: Client) -> None:
    client.upload()
    number = client.question()["id"]
    done = client.wait(number)
    used = [s["segment"] for s in client.told(number)[-1]["sources"]]
    client.ok(client.put(f"/api/questions/{number}/margins/{used[0]}", json={"accepted": False}))
    with serving(make()) as address, Client(base_url=address, timeout=30) as later:
        found = later.asked(number)
        assert (found["answer"], found["state"]) == (done["answer"], "done")
        old = later.told(number)
        assert {"reading.started", "segment.read", "margin.judged", "answer.finished"} <= set(types(old))
        later.ok(later.post(f"/api/questions/{number}/again"))
        assert later.wait(number)["answer"] != done["answer"]
        new = later.told(number)
        assert new[: len(old)] == old
        assert used[0] not in [source["segment"] for source in new[-1]["sources"]]
        (later_question,) = later.ok(later.get("/api/questions?document=1"))
        assert later_question["id"] == number
        assert later.delete(f"/api/questions/{number}").status_code == 204
    with serving(make()) as address, Client(base_url=address) as last:
        assert last.ok(last.get("/api/questions")) == []


def test_damaged_questions_are_passed_over(make: Callable[..., Any], client: Client) -> None:
    client.upload()
    number = client.question()["id"]
    client.wait(number)
    folder = next(Path(os.environ["WIM_EDGE_HOME"]).glob("libraries/*/questions"))
    good = json.loads((folder / f"{number}.json").read_text())
    damages: list[dict[str, Any]] = [
        {"documents": "abc"}, {"text": 5}, {"ended": "foo"}, {"options": [1]}, {"text": "\ud800"},
        {"job": {"state": "done"}}, {"old": [{"x": 1}, {"type": "error"}]}, {"asked": None},
        {"old": [{"type": "answer.finished", "text": 3}]}, {"old": [{"type": "answer.finished"}]},
        {"old": [{"type": "x\ny\n\ndata: foo"}]},
    ]  # fmt: skip
    for at, damage in enumerate(damages):
        other = f"{at:032x}"
        (folder / f"{other}.json").write_text(json.dumps({**good, "id": other, **damage}))
    (folder / ("a" * 32 + ".json")).write_text("[" * 200_000)
    (folder / ("b" * 32 + ".json")).write_text(json.dumps(good))  # of another name
    strange = "c" * 32
    (folder / f"{strange}.json").write_text(json.dumps({**good, "id": strange, "options": {"colour": "blue"}}))
    with serving(make()) as address, Client(base_url=address, timeout=30) as later:
        assert {one["id"] for one in later.ok(later.get("/api/questions"))} == {number, strange}
        assert later.post(f"/api/questions/{strange}/again").status_code == 400


_KILLED = """
import os, signal
from tests.server.conftest import Client, serving
from tests.server.slow import SMALL, Slow
from wim_edge import Runtime
from wim_edge.server import job_queue
from wim_edge.server.app import create_app
model = Slow()
job_queue.Runtime = lambda settings: Runtime(settings, model=model)
with serving(create_app(SMALL)) as address:
    with Client(base_url=address, timeout=30) as client:
        client.upload()
        done = client.question("How?")["id"]
        client.wait(done)
        model.seconds = 0.05
        running, waiting = client.question()["id"], client.question("And why?")["id"]
        client.wait(running, "running")
        print(done, running, waiting, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.real
def test_a_server_that_is_killed_loses_no_question(make: Callable[..., Any]) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    done, *unanswered = killed.stdout.split()
    with serving(make()) as address, Client(base_url=address, timeout=30) as later:
        assert {one["id"] for one in later.ok(later.get("/api/questions"))} == {done, *unanswered}
        assert later.asked(done)["answer"].startswith("an answer")
        for number in unanswered:
            found = later.asked(number)
            assert (found["state"], found["answer"]) == ("failed", None)
            last = later.told(number, 500)
            assert [event["message"] for event in last] == ["the server ended before it was answered"]


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
