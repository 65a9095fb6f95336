"""One question at a time, in their order; what is read on makes way; a full line says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reading.mill import MILL, SURE
from tests.server.conftest import ALONE, PARTS, Client, parsed, serving, types
from tests.server.slow import TEXT, Slow, until
from wim_edge import Document, Runtime, Settings, events, loaded_models
from wim_edge.catalog import ResolvedModel
from wim_edge.server.job_queue import Job, JobQueue
from wim_edge.testing import FakeModel


def test_the_first_event_comes_at_once_though_the_model_is_busy(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.05
    busy = client.question()
    body = {"documents": [1], "question": "And now?"}
    with client.stream("POST", "/api/ask", json=body) as response:
        first = next(parsed(response))
        assert client.asked(busy["id"])["state"] != "done"
    assert first["type"] == "queued"
    assert first["before"] == 1


def test_it_is_read_on_while_nobody_waits(client: Client) -> None:
    client.upload(text=PARTS)
    body = {"documents": [1], "question": "Which bicycle?", "options": ALONE, "read_on": True}
    number = client.ok(client.post("/api/questions", json=body))["id"]
    assert client.wait(number)["state"] == "done"
    told = client.told(number)
    starts = [event["read_segments"] for event in told if event["type"] == "reading.started"]
    ends = [event for event in told if event["type"] == "answer.finished"]
    assert len(starts) == len(ends) >= 2
    assert starts[1] == ends[0]["read_segments"] < ends[0]["segments"]
    assert ends[-1]["read_segments"] == ends[-1]["segments"]
    assert types(told)[-1] == "answer.finished"


def test_who_comes_does_not_wait_for_what_is_read_on(client: Client, model: Slow) -> None:
    client.upload(text=PARTS)
    model.seconds = 0.05
    body = {"documents": [1], "question": "Which bicycle?", "options": ALONE, "read_on": True}
    number = client.ok(client.post("/api/questions", json=body))["id"]
    until(lambda: client.asked(number)["answer"] is not None)
    answer = client.asked(number)["answer"]
    assert client.asked(number)["state"] == "running"
    assert client.ok(client.get("/api/status"))["waiting"] == 0
    other = client.question("Which bicycle?", **ALONE)["id"]
    assert client.wait(other)["state"] == "done"
    first = client.asked(number)
    assert (first["state"], first["answer"]) == ("done", answer)
    last = client.told(number)[-1]
    assert last["read_segments"] < last["segments"]
    assert client.told(other)[0]["before"] == 0


def test_a_server_may_read_on_by_itself(make: Callable[..., Any]) -> None:
    with serving(make(read_on=True)) as address, Client(base_url=address, timeout=30) as client:
        client.upload(text=PARTS)
        assert client.ok(client.get("/api/status"))["read_on"] is True
        number = client.question("Which bicycle?", **ALONE)["id"]
        last = client.told(number)[-1]
        assert last["read_segments"] == last["segments"]


def test_a_full_line_says_when_to_come_back(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.05
    asked = [client.question(f"Question {n}?") for n in range(4)]  # one is answered, three wait
    client.wait(asked[0]["id"], "running", "done")
    for path in ("/api/questions", "/api/ask"):
        for _ in range(2):
            response = client.post(path, json={"documents": [1], "question": "Now?"})
            if response.status_code != 429:  # the first was taken while the fourth was put in line
                asked.append(response.json())
                continue
        assert response.status_code == 429
        assert 1 <= int(response.headers["retry-after"]) <= 30  # not until all are done
        assert response.json()["error"]["type"] == "BusyError"
    model.seconds = 0.0
    assert {client.wait(one["id"])["state"] for one in asked} == {"done"}
    assert len(client.ok(client.get("/api/questions"))) == len(asked)


def test_all_in_line_are_answered_in_their_order(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.002
    asked = [client.question(f"Question {n}?")["id"] for n in range(3)]
    seen = set()
    while not {(True, True, True)} <= seen:
        seen.add(tuple(client.asked(number)["state"] == "done" for number in reversed(asked)))  # the last one first
    assert all(list(done) == sorted(done) for done in seen)
    before = [event["before"] for event in client.told(asked[2]) if event["type"] == "queued"]
    assert before == [*range(before[0], -1, -1)]


def test_what_fails_is_the_last_event_and_the_next_one_is_served(client: Client, model: Slow) -> None:
    client.upload("long.txt", TEXT * 40)
    failed = client.question(pattern="llm")["id"]
    assert client.wait(failed)["state"] == "failed"
    last = client.told(failed)[-1]
    assert (last["type"], last["error"]) == ("error", "ContextOverflowError")
    assert last["hint"]
    model.reply = lambda prompt: 1 / 0  # type: ignore[assignment,return-value]
    broken = client.question("What breaks?")["id"]
    assert client.wait(broken)["state"] == "failed"
    last = client.told(broken)[-1]
    assert last["message"] == "something is wrong inside wim-edge"
    model.reply = lambda prompt: "fine"
    assert client.wait(client.question("And now?", pattern="rag")["id"])["answer"] == "fine"


def test_the_judge_is_loaded_first_and_the_writer_when_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, opened = tmp_path / "house.gguf", list[str]()
    file.write_bytes(b"GGUF")

    def open_model(found: ResolvedModel, settings: Settings) -> FakeModel:
        opened.append(found.name)
        return FakeModel(lambda _: "4,000 crowns")

    monkeypatch.setattr(loaded_models, "open_model", open_model)
    monkeypatch.setattr(loaded_models, "check_model_file", lambda *_: None)

    def nothing(_: Runtime) -> Iterator[events.Event]:
        yield events.Warning("nothing is asked")

    def ask(runtime: Runtime) -> Iterator[events.Event]:
        runtime.roles().reader.support = SURE
        yield from runtime.stream(Document("mill", MILL), "What did Brandt pay?")

    queue = JobQueue(Settings(model=str(file), save=False))
    try:
        for begin, loaded in ((nothing, ["smollm2-135m"]), (ask, ["smollm2-135m", "house"])):
            job = queue.submit(Job(begin, queue.settings))
            until(lambda: job.is_finished)  # noqa: B023
            assert job.state == "done", job.events[-1]
            assert (opened, sorted(queue.roles.model.in_memory)) == (loaded, sorted(loaded))
            assert (queue.model, queue.roles.judge.name) == ("house", "smollm2-135m")
    finally:
        queue.close()
    assert (queue.model, queue.roles) == (None, None)
