"""What the page says is true at the moment when it says it, in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.server.browser import BROWSER, add, answered, ask, expect, last, send
from tests.server.test_page_desk import USAGE, finished, margin, script, told
from wim_edge import Runtime, events

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
NOON, RED = "The ferry sails at noon.", "It is red."
QUOTES = tuple(events.Quote(text, "a", None, None, chars) for text, chars in ((NOON, (0, 24)), (RED, (25, 35))))
BEGUN = events.ReadingStarted("m", "wim-shallow", ("a",), 2, 18, 512, 0, "likelihood", within="auto")


@pytest.fixture(autouse=True)
def ferry(page: Any) -> None:
    add(page, "a.txt", f"{NOON} {RED}")


def test_each_stage_is_named_while_it_lasts(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Semaphore(0)
    ranked = events.ReadingRanked((events.RankedSegment(0, "a", (0, 24), 0.9, True),))
    last_one = finished("noon", short="noon", quotes=QUOTES[:1])
    stages: tuple[list[events.Event], ...] = (
        [], [BEGUN, *margin(0, "a", (0, 24), NOON)], [ranked], [replace(BEGUN, judge="j"), ranked], [last_one],
    )  # fmt: skip

    def stream(*_given: Any, **_more: Any) -> Iterator[events.Event]:
        for stage in stages:
            yield from stage
            if stage is not stages[-1]:
                assert go_on.acquire(timeout=60)

    monkeypatch.setattr(Runtime, "stream", stream)
    ask(page, "When does it sail?")
    card = page.locator(".card").first
    expect(card.locator(".word")).to_have_text("Starting")
    expect(card.locator(".now")).to_be_hidden()  # nothing is checked that could be answered from
    expect(card.locator(".stop")).to_be_visible()
    ask(page, "Is it red?")
    expect(last(page).locator(".word")).to_have_text("Waiting")
    expect(last(page).locator(".sum")).to_have_text("Behind 1 other question")
    expect(page.locator("#machine")).to_contain_text("busy, 1 in line")  # long before the next look at the machine
    last(page).locator(".stop").click()
    expect(last(page).locator(".word")).to_have_text("Stopped")  # it did not fail
    go_on.release()
    expect(card.locator(".word")).to_have_text("Checking")
    expect(card.locator(".sum")).to_have_text("Checking likely passages first: 1 of 2")
    expect(card.locator(".now")).to_be_visible()
    go_on.release()
    expect(card.locator(".sum")).to_have_text("Answering")
    expect(card.locator(".now")).to_be_hidden()
    go_on.release()
    expect(card.locator(".sum")).to_have_text("Answering")
    for _ in range(5):
        go_on.release()
    expect(card.locator(".word")).to_have_text("Found")
    expect(card.locator(".sum")).to_have_text("Checked 1 of 2 passages · 1.0 s")
    expect(page.locator("#machine")).to_contain_text("idle", timeout=15_000)  # it looks each 10 seconds


def test_a_card_of_before_has_the_word_that_it_will_have(page: Any) -> None:
    words = page.evaluate("""async () => {
      const { begin, word } = await import("./told.js");
      const found = [{ support: 0.2 }, { support: 0.01, has_more: true }, { status: "answered", support: null }];
      return found.map((a) => word({ ...begin({ status: "not_found", short: "", options: {}, ...a }), live: false }));
    }""")
    assert words == ["Perhaps not there", "Not found so far", "In the model’s words"]


def test_while_it_checks_on_nothing_is_said_to_be_absent(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def stream(*_given: Any, **_more: Any) -> Iterator[events.Event]:
        yield from (BEGUN, *margin(0, "a", (0, 24), NOON), finished("It does not seem to say.", status="not_found"))
        yield replace(BEGUN, read_segments=1)
        assert go_on.wait(60)
        yield finished("noon", short="noon", quotes=QUOTES[:1])

    monkeypatch.setattr(Runtime, "stream", stream)
    ask(page, "When does it sail?")
    card = last(page)
    expect(card.locator(".said")).to_have_text("Nothing found so far.")
    expect(card.locator(".word")).to_have_text("Checking")
    go_on.set()
    expect(card.locator(".sum")).to_have_text("Checked 1 of 2 passages · 2.0 s")  # of both


def test_a_sent_question_is_shown_before_the_server_accepts_it(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, BEGUN, finished("noon", short="noon", quotes=QUOTES[:1]))
    held: list[Any] = []
    page.route("**/api/questions", lambda route: held.append(route))
    send(page, "When does it sail?")
    expect(page.locator(".card")).to_have_text("When does it sail?")
    assert page.input_value("#question") == ""
    assert page.locator(".answer").count() == 0
    held[0].continue_()
    answered(page)
    expect(page.locator(".card .asked")).to_have_text(["When does it sail?"])


def test_a_question_that_the_server_refuses_comes_back_into_the_input(page: Any) -> None:
    held: list[Any] = []
    page.route("**/api/questions", lambda route: held.append(route))
    page.select_option("#kind", "list")
    send(page, "When does it sail?")
    expect(page.locator(".card")).to_have_count(1)
    held[0].fulfill(status=503, json={"error": {"message": "Too many questions wait", "hint": "Ask again later."}})
    expect(page.locator("#alert")).to_contain_text("Too many questions wait. Ask again later.")
    expect(page.locator(".card")).to_have_count(0)
    assert page.input_value("#question") == "When does it sail?"
    assert page.input_value("#kind") == "list"
    expect(page.locator("#go")).to_be_enabled()


def test_what_was_asked_before_stands_as_it_ended(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"answered": "In the model’s words", "unsure": "Check this", "not_found": "Not found so far"}
    for status in ends:
        text = "\n".join(["It may be so, as far as is known."] * 9)
        told(page, monkeypatch, f"Is it {status}?", BEGUN, *margin(0, "a", (0, 24), NOON),
             finished(text, status=status, quotes=QUOTES[:1]))  # fmt: skip
    page.route("**/api/questions/*/events*", lambda _route: None)  # what was found does not come
    page.reload()
    expect(page.locator(".card .word")).to_have_text(list(ends.values()))
    assert page.locator(".card .sum:visible").count() == 0
    page.unroute("**/api/questions/*/events*")
    page.reload()
    expect(page.locator(".card .sum")).to_have_text(["Checked 1 of 2 passages · 1.0 s"] * 3)
    expect(page.locator(".card .word")).to_have_text(list(ends.values()))  # as before it had come
    expect(last(page).locator(".sum")).to_be_in_viewport()


@pytest.mark.parametrize("own", ["", "a"])
def test_a_summary_of_the_whole_text_shows_all_that_it_quotes_once(
    page: Any, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    text = f"{own}\n\n“{NOON}”\n\n“{RED}”".strip()
    script(monkeypatch, BEGUN, events.AnswerFinished(text, "stop", "wim-shallow", "m", (), USAGE, 0, 2, None,
                                                     short=NOON, quotes=QUOTES))  # fmt: skip
    ask(page, "What is it about?")
    card = last(page)
    expect(card.locator(".sum")).to_have_text("From the text · 1.0 s")
    expect(card.locator(".keep")).to_be_hidden()
    assert card.locator(".quotes .link").all_inner_texts() == [f"“{NOON}”", f"“{RED}”"]
    assert card.locator(".said").inner_text() == own
    expect(card.locator(".short")).to_be_hidden()


@pytest.mark.parametrize(("items", "below"), [((f"Times: “{NOON}”", f"Colour: “{RED}”"), 0), (("noon", "red"), 1)])
def test_an_item_leads_to_its_quotation_and_is_copied_with_it(
    page: Any, monkeypatch: pytest.MonkeyPatch, items: tuple[str, str], below: int
) -> None:
    told(page, monkeypatch, "What is it about?", BEGUN, *margin(0, "a", (0, 24), NOON),
         finished("2 found:\n- {}\n- {}".format(*items), short="; ".join(items), quotes=QUOTES))  # fmt: skip
    card = last(page)
    expect(card.locator(".items .link")).to_have_text(list(items))
    expect(card.locator(".items .place")).to_have_count(2)
    assert card.locator(".quotes .link:visible").count() == below  # not twice
    card.locator(".items button", has_text=items[1]).click()
    expect(page.locator("mark:not(.also)")).to_have_text(RED)
    expect(page.locator("mark.also")).to_have_text(NOON)
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    card.locator(".copy").click()
    told_by = [f"- {items[0]} [1]", f"- {items[1]} [2]", "", f"1. “{NOON}” (a)"]
    assert page.evaluate("window.copied").split("\n")[3:7] == told_by


def test_on_a_phone_the_way_to_the_conversation_says_what_is_there(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#to-answer")).to_have_text("Ask a question")
    page.click("#to-answer")
    told(page, monkeypatch, "When does it sail?", BEGUN, finished("noon", short="noon", quotes=QUOTES[:1]))
    last(page).locator(".place").click()
    expect(page.locator("mark")).to_have_text(NOON)
    expect(page.locator("#to-answer")).to_have_text("Back to the answer")


def test_an_unsure_answer_may_be_asked_for_as_a_list(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told(page, monkeypatch, "Who sails?", BEGUN, finished("noon", short="noon", status="unsure", quotes=QUOTES[:1]))
    with page.expect_request(lambda one: one.method == "POST") as sent:
        last(page).locator(".list").click()
    assert sent.value.post_data_json["options"]["answer"] == "list"
    expect(page.locator(".card")).to_have_count(2)
    answered(page)
    expect(last(page).locator(".list")).to_be_hidden()


def test_what_nobody_judged_is_not_said_to_be_found(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told(page, monkeypatch, "Why does it sail?", BEGUN, finished("It sails for trade."))
    expect(last(page).locator(".word")).to_have_text("In the model’s words")
