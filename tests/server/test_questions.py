"""The API's questions: asked, watched, stopped, judged, and asked again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.server.conftest import ALONE, PARTS, Client, parsed, serving, types
from tests.server.slow import Slow, until


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
    assert [question[name] for name in ("status", "short", "support", "has_more")] == [
        found[-1][name] for name in ("status", "short", "support", "has_more")
    ]
    assert question["state"] == "done"
    read = client.events("/api/read", "POST", json={"documents": [1]})
    assert types(read)[-1] == "reading.finished"


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
    whole = client.told(number)
    assert types(whole)[-1] == "answer.finished"
    assert client.told(number) == whole
    assert client.told(number, headers={"last-event-id": "4"}) == whole[5:]
    assert client.told(number, 6) == whole[7:]
    assert client.asked(number)["events"] == len(whole)


def test_a_question_that_goes_on_from_another_is_completed_by_it(
    make: Callable[..., Any], client: Client, model: Slow
) -> None:
    client.upload()
    asked = {"documents": [1], "question": "Who may copy the licence in 2021?", "options": {}}
    first = client.ok(client.post("/api/questions", json=asked))["id"]
    client.wait(first)
    model.seconds = 0.05
    client.question("Is it busy?")  # so that the next one waits
    later = client.ok(client.post("/api/questions", json={**asked, "question": "and in 2022?", "follows": first}))
    assert later["question"] == later["asked_as"] == "and in 2022?"
    model.seconds = 0.0
    client.wait(later["id"])
    later = client.asked(later["id"])
    assert later["asked_as"] == "Who may copy the licence in 2021? and in 2022?"
    settled = next(event for event in client.told(later["id"]) if event["type"] != "queued")
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
    until(lambda: client.asked(first["id"])["events"] > 12)
    client.ok(client.post(f"/api/questions/{second['id']}/cancel"))
    assert client.asked(second["id"])["state"] == "cancelled"
    assert types(client.told(second["id"])) == ["queued", "error"]
    client.ok(client.post(f"/api/questions/{first['id']}/answer-now"))
    model.seconds = 0.0
    assert client.wait(first["id"])["answer"]
    assert client.told(first["id"])[-1]["finish_reason"] == "early_exit"
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
    whole = client.told(number)
    used = [source["segment"] for source in whole[-1]["sources"]]
    shown = client.ok(client.put(f"/api/questions/{number}/margins/{used[0]}", json={"accepted": False}))
    assert shown["judged"] == {str(used[0]): False}
    client.ok(client.put(f"/api/questions/{number}/margins/{used[1]}", json={"accepted": True}))
    client.ok(client.put(f"/api/questions/{number}/margins/{used[1]}", json={"accepted": None}))
    assert client.put(f"/api/questions/{number}/margins/999", json={"accepted": True}).status_code == 400
    client.ok(client.post(f"/api/questions/{number}/again"))
    assert client.wait(number)["answer"] != done["answer"]
    more = client.told(number, len(whole) - 1)
    assert types(more)[0] == "queued"
    assert "segment.read" not in types(more)
    assert more[-1]["usage"]["prefilled_tokens"] == 0
    assert [source["segment"] for source in more[-1]["sources"]] == used[1:]


def test_a_reading_goes_on_after_its_answer(client: Client) -> None:
    client.upload(text=PARTS)
    number = client.question("Which bicycle?", **ALONE)["id"]
    first = client.told(number)
    assert first[-1]["read_segments"] < first[-1]["segments"]
    client.ok(client.post(f"/api/questions/{number}/again?read_on=true"))
    more = client.told(number, len(first) - 1)
    (started,) = [event for event in more if event["type"] == "reading.started"]
    assert started["read_segments"] == first[-1]["read_segments"]
    assert more[-1]["read_segments"] == more[-1]["segments"]
    seen = [event["segment"] for event in [*first, *more] if event["type"] == "segment.read"]
    assert sorted(seen) == list(range(more[-1]["segments"]))
    assert client.post(f"/api/questions/{number}/again?read_on=perhaps").status_code == 422


def test_a_reading_goes_on_after_another_question(client: Client, model: Slow) -> None:
    client.upload(text=PARTS)
    number = client.question("Which bicycle?", **ALONE)["id"]
    first = client.told(number)
    client.told(client.question("Which ferry?", **ALONE)["id"])
    client.ok(client.post(f"/api/questions/{number}/again?read_on=true"))
    more = client.told(number, len(first) - 1)
    starts = [event["read_segments"] for event in more if event["type"] == "reading.started"]
    assert starts == [0, first[-1]["read_segments"]]
    assert more[-1]["read_segments"] > first[-1]["read_segments"]

    client.told(client.question("Which ferry?", **ALONE)["id"])
    before, model.seconds = len(client.told(number)), 0.2
    client.ok(client.post(f"/api/questions/{number}/again?read_on=true"))
    until(lambda: client.asked(number)["state"] == "running")
    client.ok(client.post(f"/api/questions/{number}/cancel"))
    assert client.wait(number)["state"] == "cancelled"  # it does not begin once more
    assert types(client.told(number, before - 1)).count("reading.started") <= 1


def test_nothing_is_asked_of_nothing(client: Client) -> None:
    assert client.post("/api/questions", json={"documents": [7], "question": "a?"}).status_code == 404
    assert client.post("/api/questions", json={"documents": [], "question": "a?"}).status_code == 400
    assert client.post("/api/questions", json={"documents": [7], "question": " \n"}).status_code == 422
    assert client.ok(client.get("/api/questions")) == []
    number = client.question("a?", documents=(), pattern="llm")["id"]
    assert client.wait(number)["state"] == "done"
    assert client.get("/api/questions/" + "0" * 32).status_code == 404
    assert client.get("/api/questions/nothing").status_code == 422


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
