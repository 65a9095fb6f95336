"""The API on a scripted engine: documents, questions, streams, judgements, limits of the line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.server.conftest import Client, parsed, serving
from tests.server.slow import TEXT, Slow
from wim_edge import Runtime

PARTS = "".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(60))
ALONE = {"pattern": "wim-shallow", "relevance": "likelihood", "margins": "verbatim", "segment_tokens": 32}


def types(found: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in found]


# Documents

def test_a_document_is_uploaded_kept_once_shown_and_let_go_of(client: Client) -> None:
    given = client.upload("boats.md", "# Boats 🚢\n\nThe ferry sails at noon.\n\n## Crew\n\nNine.")
    assert (given["title"], given["pages"], given["notes"]) == ("Boats 🚢", None, [])
    assert client.upload("boats.md", "# Boats 🚢\n\nThe ferry sails at noon.\n\n## Crew\n\nNine.")["id"] == given["id"]
    other = client.upload("../../boats.md", "# Boats 🚢\n\nAnother.")
    assert other["id"] != given["id"]
    assert (other["name"], other["file"]) == ("Boats 🚢 (2)", "boats.md")
    whole = client.ok(client.get(f"/api/documents/{given['id']}"))
    assert whole["chars"] == len(whole["text"])
    crew = next(mark for mark in whole["marks"] if mark["section"] == "Crew")
    assert whole["text"][crew["start"] :].startswith(("Crew", "## Crew"))
    assert [one["id"] for one in client.ok(client.get("/api/documents"))] == [given["id"], other["id"]]
    assert client.delete(f"/api/documents/{given['id']}").status_code == 204
    assert client.get(f"/api/documents/{given['id']}").status_code == 404
    assert client.delete(f"/api/documents/{given['id']}").status_code == 404


@pytest.mark.parametrize(("name", "data"), [("a.bin", b"\0\1\2"), ("a.txt", b"  "), ("a.pdf", b"%PDF-1.4 no")])
def test_what_cannot_be_read_says_why(client: Client, name: str, data: bytes) -> None:
    response = client.post("/api/documents", files={"file": (name, data)})
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "DocumentError"
    assert response.json()["error"]["hint"]


def test_files_of_named_folders_alone_can_be_named(client: Client, folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("The ferry sails at noon.")
    secret = tmp_path / "secret.txt"
    secret.write_text("Nobody may read this.")
    (folder / "link.txt").symlink_to(secret)
    os.symlink("loop", folder / "loop")
    first = client.ok(client.post("/api/documents/named", json={"path": str(folder / "a.txt")}))
    again = client.ok(client.post("/api/documents/named", json={"path": str(folder / ".." / "folder" / "a.txt")}))
    assert again["id"] == first["id"]
    (folder / "a.txt").write_text("The ferry sails at one.")
    changed = client.ok(client.post("/api/documents/named", json={"path": str(folder / "a.txt")}))
    assert client.ok(client.get(f"/api/documents/{changed['id']}"))["text"] == "The ferry sails at one."
    told = set()
    for path in (secret, folder / "link.txt", folder / ".." / "secret.txt", folder / "loop", folder, "/etc/passwd",
                 tmp_path / "nothing", "a\0b", "", "~", "a" * 4000):  # fmt: skip
        response = client.post("/api/documents/named", json={"path": str(path)})
        assert response.status_code == 400, path
        told.add(response.json()["error"]["message"])
    assert len(told) == 1  # it does not even tell what is there


@pytest.mark.parametrize("name", ["🚢" * 300 + ".txt", "..", "a\nb.txt", "C:\\x\\y.txt", "con.txt", " ", "a.txt/", "-"])
def test_any_name_will_do(client: Client, name: str) -> None:
    given = client.upload(name, "The ferry sails at noon.")
    assert client.ok(client.get(f"/api/documents/{given['id']}"))["text"] == "The ferry sails at noon."


# Asking

def test_asking_streams_the_same_events_as_everywhere(client: Client) -> None:
    client.upload()
    found = client.events("/api/ask", "POST", json={"documents": [1], "question": "Which colour?"})
    assert types(found)[:2] == ["queued", "reading.started"]
    assert types(found)[-1] == "answer.finished"
    assert {"segment.read", "margin.judged", "answer.delta"} <= set(types(found))
    assert [event["id"] for event in found] == list(range(len(found)))
    text = client.ok(client.get("/api/documents/1"))["text"]
    for margin in (event for event in found if event["type"] == "margin.judged"):
        assert text[slice(*margin["chars"])].strip()
    (question,) = client.ok(client.get("/api/questions"))
    assert question["answer"] == found[-1]["text"]
    assert [question[name] for name in ("status", "short", "support")] == [
        found[-1][name] for name in ("status", "short", "support")
    ]
    assert question["state"] == "done"
    read = client.events("/api/read", "POST", json={"documents": [1]})
    assert types(read)[-1] == "reading.finished"


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


def test_who_goes_away_cancels(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.03
    with client.stream("POST", "/api/ask", json={"documents": [1], "question": "Which?"}) as response:
        for event in parsed(response):
            if event["type"] == "segment.read":
                break
    (question,) = client.ok(client.get("/api/questions"))
    assert client.wait(question["id"])["state"] == "cancelled"
    assert client.ok(client.get("/api/status"))["waiting"] == 0


def test_a_question_goes_on_alone_and_can_be_watched_from_anywhere(client: Client) -> None:
    client.upload()
    number = client.question()["id"]
    whole = client.events(f"/api/questions/{number}/events")
    assert types(whole)[-1] == "answer.finished"
    assert client.events(f"/api/questions/{number}/events") == whole
    assert client.events(f"/api/questions/{number}/events", headers={"last-event-id": "4"}) == whole[5:]
    assert client.events(f"/api/questions/{number}/events?after=6") == whole[7:]
    assert client.asked(number)["events"] == len(whole)


def test_a_question_that_goes_on_from_another_is_completed_by_it(make: Callable[..., Any], client: Client) -> None:
    client.upload()
    asked = {"documents": [1], "question": "Who may copy the licence in 2021?", "options": {}}
    first = client.ok(client.post("/api/questions", json=asked))["id"]
    client.wait(first)
    later = client.ok(client.post("/api/questions", json={**asked, "question": "and in 2022?", "follows": first}))
    assert later["question"] == "and in 2022?"
    assert later["asked_as"] == "Who may copy the licence in 2022?"
    client.wait(later["id"])
    settled = client.events(f"/api/questions/{later['id']}/events")[1]
    assert (settled["type"], settled["asked_as"]) == ("question.settled", later["asked_as"])
    with serving(make()) as address, Client(base_url=address, timeout=30) as again:
        assert again.asked(later["id"])["asked_as"] == later["asked_as"]
    alone = client.ok(client.post("/api/questions", json={**asked, "follows": later["id"]}))
    assert alone["asked_as"] == asked["question"]
    gone = client.post("/api/questions", json={**asked, "follows": "0" * 32})
    assert gone.status_code == 404


def test_answer_now_and_cancel(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.03
    first, second = client.question(), client.question("And why?")
    refused = client.post(f"/api/questions/{second['id']}/answer-now")
    assert refused.status_code == 400
    assert "nothing has been read" in refused.json()["error"]["message"]
    for _ in range(6000):
        if client.asked(first["id"])["events"] > 12:
            break
        time.sleep(0.01)
    client.ok(client.post(f"/api/questions/{second['id']}/cancel"))
    assert client.asked(second["id"])["state"] == "cancelled"
    assert types(client.events(f"/api/questions/{second['id']}/events")) == ["queued", "error"]
    client.ok(client.post(f"/api/questions/{first['id']}/answer-now"))
    model.seconds = 0.0
    assert client.wait(first["id"])["answer"]
    assert client.events(f"/api/questions/{first['id']}/events")[-1]["finish_reason"] == "early_exit"
    model.seconds = 0.03
    third = client.question("And then?")
    client.wait(third["id"], "running")
    client.ok(client.post(f"/api/questions/{third['id']}/cancel"))
    assert client.wait(third["id"])["state"] == "cancelled"
    client.ok(client.post(f"/api/questions/{third['id']}/cancel"))  # once more does nothing


def test_margins_are_judged_and_it_is_answered_again_without_reading(client: Client) -> None:
    client.upload()
    number = client.question()["id"]
    done = client.wait(number)
    whole = client.events(f"/api/questions/{number}/events")
    used = [source["segment"] for source in whole[-1]["sources"]]
    shown = client.ok(client.put(f"/api/questions/{number}/margins/{used[0]}", json={"accepted": False}))
    assert shown["judged"] == {str(used[0]): False}
    client.ok(client.put(f"/api/questions/{number}/margins/{used[1]}", json={"accepted": True}))
    client.ok(client.put(f"/api/questions/{number}/margins/{used[1]}", json={"accepted": None}))
    assert client.put(f"/api/questions/{number}/margins/999", json={"accepted": True}).status_code == 400
    client.ok(client.post(f"/api/questions/{number}/again"))
    assert client.wait(number)["answer"] != done["answer"]
    more = client.events(f"/api/questions/{number}/events?after={len(whole) - 1}")
    assert types(more)[0] == "queued"
    assert "segment.read" not in types(more)
    assert more[-1]["usage"]["prefilled_tokens"] == 0
    assert [source["segment"] for source in more[-1]["sources"]] == used[1:]


def test_a_reading_goes_on_after_its_answer(client: Client) -> None:
    client.upload(text=PARTS)
    number = client.question("Which bicycle?", **ALONE)["id"]
    client.wait(number)
    first = client.events(f"/api/questions/{number}/events")
    assert first[-1]["read_segments"] < first[-1]["segments"]
    client.ok(client.post(f"/api/questions/{number}/again?read_on=true"))
    client.wait(number)
    more = client.events(f"/api/questions/{number}/events?after={len(first) - 1}")
    (started,) = [event for event in more if event["type"] == "reading.started"]
    assert started["read_segments"] == first[-1]["read_segments"]
    assert more[-1]["read_segments"] == more[-1]["segments"]
    seen = [event["segment"] for event in [*first, *more] if event["type"] == "segment.read"]
    assert sorted(seen) == list(range(more[-1]["segments"]))
    assert client.post(f"/api/questions/{number}/again?read_on=perhaps").status_code == 422


def test_it_is_read_on_while_nobody_waits(client: Client) -> None:
    client.upload(text=PARTS)
    body = {"documents": [1], "question": "Which bicycle?", "options": ALONE, "read_on": True}
    number = client.ok(client.post("/api/questions", json=body))["id"]
    assert client.wait(number)["state"] == "done"
    told = client.events(f"/api/questions/{number}/events")
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
    while client.asked(number)["answer"] is None:
        time.sleep(0.02)
    answer = client.asked(number)["answer"]
    assert client.asked(number)["state"] == "running"
    assert client.ok(client.get("/api/status"))["waiting"] == 0
    other = client.question("Which bicycle?", **ALONE)["id"]
    assert client.wait(other)["state"] == "done"
    first = client.asked(number)
    assert (first["state"], first["answer"]) == ("done", answer)
    last = client.events(f"/api/questions/{number}/events")[-1]
    assert last["read_segments"] < last["segments"]
    assert client.events(f"/api/questions/{other}/events")[0]["before"] == 0


def test_a_server_may_read_on_by_itself(make: Callable[..., Any]) -> None:
    with serving(make(read_on=True)) as address, Client(base_url=address, timeout=30) as client:
        client.upload(text=PARTS)
        assert client.ok(client.get("/api/status"))["read_on"] is True
        number = client.question("Which bicycle?", **ALONE)["id"]
        client.wait(number)
        last = client.events(f"/api/questions/{number}/events")[-1]
        assert last["read_segments"] == last["segments"]


def test_what_was_asked_is_there_after_a_restart(make: Callable[..., Any], client: Client) -> None:
    client.upload()
    number = client.question()["id"]
    done = client.wait(number)
    used = [s["segment"] for s in client.events(f"/api/questions/{number}/events")[-1]["sources"]]
    client.ok(client.put(f"/api/questions/{number}/margins/{used[0]}", json={"accepted": False}))
    with serving(make()) as address, Client(base_url=address, timeout=30) as later:
        found = later.asked(number)
        assert (found["answer"], found["state"]) == (done["answer"], "done")
        old = later.events(f"/api/questions/{number}/events")
        assert {"reading.started", "segment.read", "margin.judged", "answer.finished"} <= set(types(old))
        later.ok(later.post(f"/api/questions/{number}/again"))
        assert later.wait(number)["answer"] != done["answer"]
        new = later.events(f"/api/questions/{number}/events")
        assert new[: len(old)] == old
        assert used[0] not in [source["segment"] for source in new[-1]["sources"]]
        (later_question,) = later.ok(later.get("/api/questions?document=1"))
        assert later_question["id"] == number
        assert later.delete(f"/api/questions/{number}").status_code == 204
    with serving(make()) as address, Client(base_url=address) as last:
        assert last.ok(last.get("/api/questions")) == []


def test_letting_go_of_a_document_lets_go_of_its_questions(client: Client, model: Slow) -> None:
    client.upload()
    client.upload("other.txt", "Other words.")
    alone, both = client.question()["id"], client.question(documents=(1, 2))["id"]
    client.wait(both)
    assert client.delete("/api/documents/1").status_code == 204
    assert client.get(f"/api/questions/{alone}").status_code == 404
    assert client.asked(both)["answer"]
    assert client.post(f"/api/questions/{both}/again").status_code == 404
    assert client.post("/api/questions", json={"documents": [1], "question": "a?"}).status_code == 404


# The line

def test_a_full_line_says_when_to_come_back(client: Client, model: Slow) -> None:
    client.upload()
    model.seconds = 0.05
    asked = [client.question(f"Question {n}?") for n in range(4)]  # one is answered, three wait
    while client.asked(asked[0]["id"])["state"] == "waiting":
        time.sleep(0.01)
    for path in ("/api/questions", "/api/ask"):
        for _ in range(2):
            response = client.post(path, json={"documents": [1], "question": "Now?"})
            if response.status_code != 429:  # the first was taken while the fourth was put in line
                asked.append(response.json())
                continue
        assert response.status_code == 429
        assert int(response.headers["retry-after"]) >= 1
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


def test_what_fails_is_the_last_event_and_the_next_one_is_served(client: Client, model: Slow) -> None:
    client.upload("long.txt", TEXT * 40)
    failed = client.question(pattern="llm")["id"]
    assert client.wait(failed)["state"] == "failed"
    last = client.events(f"/api/questions/{failed}/events")[-1]
    assert (last["type"], last["error"]) == ("error", "ContextOverflowError")
    assert last["hint"]
    model.reply = lambda prompt: 1 / 0  # type: ignore[assignment,return-value]
    broken = client.question("What breaks?")["id"]
    assert client.wait(broken)["state"] == "failed"
    last = client.events(f"/api/questions/{broken}/events")[-1]
    assert last["message"] == "something is wrong inside wim-edge"
    model.reply = lambda prompt: "fine"
    assert client.wait(client.question("And now?", pattern="rag")["id"])["answer"] == "fine"


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


def test_nothing_is_asked_of_nothing(client: Client) -> None:
    assert client.post("/api/questions", json={"documents": [7], "question": "a?"}).status_code == 404
    assert client.post("/api/questions", json={"documents": [], "question": "a?"}).status_code == 400
    assert client.post("/api/questions", json={"documents": [7], "question": " \n"}).status_code == 422
    assert client.ok(client.get("/api/questions")) == []
    number = client.question("a?", documents=(), pattern="llm")["id"]
    assert client.wait(number)["state"] == "done"
    assert client.get("/api/questions/" + "0" * 32).status_code == 404
    assert client.get("/api/questions/nothing").status_code == 422


# The machine

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
    (reading,) = client.ok(client.get("/api/readings"))
    assert reading["tokens"] == reading["of_tokens"] > 0
    assert client.delete(f"/api/readings/{reading['id']}").status_code == 204
    assert client.ok(client.get("/api/readings")) == []
    assert client.delete(f"/api/readings/{reading['id']}").status_code == 404


def test_models_are_fetched_while_it_is_watched(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge import catalog
    from wim_edge.errors import DownloadError

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
    for _ in range(6000):
        if stopped:
            break
        time.sleep(0.01)
    assert stopped


def test_what_goes_wrong_inside_a_download_is_in_the_log(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fetch(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("wim_edge.catalog.fetch", fetch)
    found = client.events("/api/models/smollm2-135m/pull", "POST")
    assert (found[-1]["error"], found[-1]["hint"]) == ("DownloadError", "See the server's log.")
    assert "RuntimeError: a bug" in caplog.text


# What an attacker found

@pytest.mark.parametrize("body", ['{"documents":[1],"question":"a \\ud800 b"}', '{"documents":[1],"question":"a",'
                                  '"options":{"temperature":NaN}}', '{"documents":[1],"question":"a","options":'
                                  '{"temperature":1e999}}', "nothing", "[]", ""])  # fmt: skip
def test_what_is_no_request_is_told_in_our_form(client: Client, body: str, caplog: pytest.LogCaptureFixture) -> None:
    response = client.post("/api/questions", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "InvalidRequestError"
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]
    assert client.get("/nothing").json()["error"]["message"] == "Not Found"


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
from wim_edge.server.app import create_app
model = Slow()
with serving(create_app(SMALL, open_runtime=lambda settings: Runtime(settings, model=model))) as address:
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
            last = later.events(f"/api/questions/{number}/events?after=500")
            assert [event["message"] for event in last] == ["the server ended before it was answered"]


def test_of_several_who_ask_again_at_once_one_does(client: Client, model: Slow) -> None:
    client.upload()
    number = client.question()["id"]
    client.wait(number)
    model.seconds = 0.02
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = list(pool.map(lambda _: client.post(f"/api/questions/{number}/again").status_code, range(4)))
            assert sorted(found) == [202, 400, 400, 400]
            client.wait(number)


def test_questions_go_with_the_last_of_their_documents(client: Client) -> None:
    client.upload()
    client.upload("other.txt", "Other words.")
    number = client.question(documents=(1, 2))["id"]
    client.wait(number)
    for document in (1, 2):
        assert client.delete(f"/api/documents/{document}").status_code == 204
    assert client.get(f"/api/questions/{number}").status_code == 404
