"""The page as a desk: several documents, what is undone, text as it was meant, and whom it leaves out, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.documents.test_sheets import SAMPLE
from tests.server.browser import BROWSER, add, answered, ask, details, expect, file, last, violations
from wim_edge import Runtime, events

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
USAGE = events.Usage(9, 0, 1, {"total": 1.0}, 1)
STORY = "# Ferry\n\nThe ferry sails at noon.\n\n| day | ships |\n| --- | --- |\n| Monday | two |\n| Tuesday | three |\n"


def script(monkeypatch: pytest.MonkeyPatch, *told: events.Event) -> None:
    """Have the runtime tell these events, whatever is asked."""
    monkeypatch.setattr(Runtime, "stream", lambda *_given, **_more: iter(told))


def told(page: Any, monkeypatch: pytest.MonkeyPatch, question: str, *answer: events.Event) -> str:
    """Ask a question that these events answer; the line below the answer."""
    script(monkeypatch, *answer)
    ask(page, question)
    return answered(page)


def begun(*documents: str, segments: int = 1) -> events.ReadingStarted:
    return events.ReadingStarted("m", "wim", documents, segments, 18, 512, 1, "bm25")


def margin(segment: int, document: str, chars: tuple[int, int], text: str) -> Iterator[events.Event]:
    yield events.SegmentRead(segment, 2, document, None, None, chars, 9)
    yield events.SegmentScored(segment, 0.9, 1)
    yield events.MarginJudged(segment, document, None, None, chars, text, chars, 0.9, True)


def finished(text: str, **more: Any) -> events.AnswerFinished:
    return events.AnswerFinished(text, "stop", "wim", "m", (), USAGE, 1, 2, 0.25, has_more=True, **more)


def test_several_documents_are_asked_together(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "a.txt", "The ferry sails at noon.")
    add(page, "b.txt", "The train leaves at one.")
    for box in page.locator("#documents input").all():
        box.check()
    expect(page.locator("#asking-of")).to_have_text("Asking the 2 ticked documents")
    quote = events.Quote("The train leaves at one.", "b", None, None, (0, 24))
    told(page, monkeypatch, "When does the train leave?", begun("a", "b", segments=2),
         *margin(0, "a", (0, 24), "The ferry sails at noon."), *margin(1, "b", (0, 24), "The train leaves at one."),
         finished("one", quotes=(quote,), short="one"))  # fmt: skip
    tabs = page.locator("#tabs button")
    expect(tabs).to_have_count(2)
    card = last(page)
    expect(card.locator(".quotes .place")).to_have_text("b")

    card.locator(".quotes .link").click()
    expect(page.locator("mark")).to_have_text("The train leaves at one.")
    expect(tabs.nth(1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("j")  # the passages besides the quotation: there is one
    expect(page.locator("mark")).to_have_text("The ferry sails at noon.")
    page.keyboard.press("q")
    expect(page.locator("mark")).to_have_text("The train leaves at one.")
    tabs.nth(0).click()
    expect(page.locator("#text")).to_contain_text("ferry")
    expect(page.locator(".segment")).to_have_count(1)
    add(page, "c.txt", "The bus leaves at two.")
    expect(page.locator("#asking-of")).to_have_text("Asking the 3 ticked documents")


def test_a_document_of_which_nothing_was_read_is_named(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        add(page, f"{name}.txt", f"The ferry {name} sails at noon.")
    page.locator("#documents input").first.check()
    page.locator("#documents input").last.check()
    script(monkeypatch, begun("a", "b", segments=2),
           *margin(0, "a", (0, 26), "The ferry a sails at noon."), finished("noon", short="noon"))  # fmt: skip
    ask(page, "When does it sail?")
    assert "Checked 1 of 2 passages" in answered(page)
    assert "Nothing read ofb" in details(last(page))
    page.locator("#documents button[aria-label='Remove b']").click()  # the other one is ticked still, and shown so
    expect(page.locator("#documents input")).to_be_checked()


def test_what_is_removed_comes_back(page: Any) -> None:
    add(page, "a.txt", "The ferry sails at noon.")
    page.click("#documents button[aria-label^='Remove']")
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("#undo")).to_contain_text("a is removed")
    page.click("#undo button")
    expect(page.locator("#title")).to_have_text("a")

    page.click("#documents button[aria-label^='Remove']")
    page.reload()  # who goes away meant it
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("#documents li")).to_have_count(0)


def test_a_reading_that_was_stopped_is_shown_as_far_as_it_went(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "a.txt", "The ferry sails at noon. It is small.")
    script(monkeypatch, begun("a", segments=2),
           *margin(0, "a", (0, 24), "The ferry sails at noon."),
           events.ReadingRanked((events.RankedSegment(0, "a", (0, 24), 0.02, False),)),
           events.AnswerFinished("", "cancelled", "wim", "m", (), USAGE, 1, 2, 0.25, has_more=True))  # fmt: skip
    ask(page, "When does it sail?")
    card = last(page)
    expect(card.locator(".word")).to_have_text("Stopped")
    expect(card.locator(".sum")).to_have_text("Checked 1 of 2 passages · 1.0 s")
    assert "9" in details(card)
    expect(card.locator(".keep")).to_be_visible()
    expect(card.locator(".passage")).to_have_count(1)


def test_the_conversation_belongs_to_what_is_asked(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "a.txt", "The ferry sails at noon.")
    told(page, monkeypatch, "When does it sail?", begun("a"), finished("noon", short="noon"))
    assert page.input_value("#question") == ""
    add(page, "b.txt", "The train leaves at one.")
    expect(page.locator(".card")).to_have_count(0)
    page.locator("#documents button", has_text="a").first.click()
    expect(last(page).locator(".asked")).to_have_text("When does it sail?")
    expect(last(page).locator(".said")).to_have_text("noon")
    last(page).hover()
    last(page).locator(".remove").click()
    expect(page.locator(".card")).to_have_count(0)
    page.click("#undo button")
    expect(page.locator(".card")).to_have_count(1)


def test_a_document_offers_questions_and_their_kind_is_asked_for(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page.click("#go")
    expect(page.locator("#first")).to_contain_text("Add a document first")
    add(page, "Ferry.md", STORY)
    expect(page.locator("#first")).to_be_hidden()
    expect(page.locator(".chip").first).to_have_text("A summary of the document")
    script(monkeypatch, begun("Ferry"), finished("two", short="two"))
    with page.expect_request("**/api/questions") as asked:
        page.locator(".chip").first.click()
    assert asked.value.post_data_json["options"] == {"answer": "summary"}
    expect(last(page).locator(".word")).to_have_text("Summary")
    expect(page.locator("#offers")).to_be_hidden()


def test_a_row_that_is_quoted_is_marked(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "Ferry.md", STORY)
    at = (STORY.index("| Tuesday"), STORY.index("three |") + 7)
    quote = events.Quote(STORY[slice(*at)], "Ferry", None, "Ferry", at, "| day | ships |")
    told(page, monkeypatch, "How many ships on Tuesday?", begun("Ferry"),
         events.SegmentRead(0, 1, "Ferry", None, None, (0, len(STORY)), 18),
         finished("three", short="three", quotes=(quote,)))  # fmt: skip
    last(page).locator(".quotes .link").click()
    marked = page.evaluate(
        """() => [...document.querySelectorAll("#text .row")].map((row) =>
        [row.textContent.includes("Tuesday"), getComputedStyle(row).backgroundColor === "rgba(0, 0, 0, 0)"])"""
    )
    assert [without for is_it, without in marked if is_it] == [False]


def test_a_row_of_a_sheet_is_named_by_its_number_and_reached_on_a_phone(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"ferry {n},{'daily ' * n}unquestionably,{n}" for n in range(1, 61)]
    add(page, "ships.csv", "\n".join(["ship,sails,crew", *rows]))
    expect(page.locator("#views")).to_be_hidden()  # it has no pages
    text = page.text_content("#text")
    at = text.index("ferry 49"), text.index("ferry 50") - 1
    quote = events.Quote(text[slice(*at)], "ships", None, None, at, text.split("\n")[0], row=50)
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#to-answer")
    told(page, monkeypatch, "Who?", begun("ships"), finished("49", short="49", quotes=(quote,)))
    last(page).get_by_text("row 50", exact=True).click()
    expect(page.locator("mark .row[data-row='50'] .cell").first).to_be_in_viewport()
    lefts = """(cells) => cells.every((one) => one.scrollWidth <= one.clientWidth) &&
        new Set(cells.map((one) => one.getBoundingClientRect().left)).size"""
    assert page.locator("#text .cell").evaluate_all(lefts) == 3  # columns, that hold their words


def test_each_sheet_is_shown_under_its_name(page: Any) -> None:
    add(page, "a.xlsx", SAMPLE)
    assert page.locator("#text .page").evaluate_all("all => all.map((one) => one.dataset.label)") == ["Prices", "Staff"]


def test_what_is_ignored_is_not_said_to_be_absent(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "a.txt", "The ferry sails at noon. It is red.")
    read = begun("a")
    told(page, monkeypatch, "When does it sail?", read, *margin(0, "a", (0, 24), "The ferry sails at noon."),
         finished("noon", short="noon"))  # fmt: skip
    card = last(page)
    script(monkeypatch, read, finished("The text does not seem to say.", status="not_found"))
    card.locator(".others summary").click()
    card.locator("[aria-label='Ignore this passage']").click()
    card.locator(".again").click()
    expect(card.locator(".advice")).to_have_text("Nothing else than what you ignore answers it.")
    page.focus("#question")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("Is it red?")
    assert page.input_value("#question") == "Is it red?"
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(2)
    expect(last(page).locator(".word")).to_have_text("Not found so far")
    assert answered(page) == "Checked 1 of 2 passages · 1.0 s"


def test_the_example_explains_itself(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expect(page.locator("#able")).to_contain_text("llama")
    script(monkeypatch, begun("example"), finished("seven"))
    page.click("#example")
    expect(page.locator("#title")).to_contain_text("Quay Street")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".card")).to_have_count(1)
    answered(page)
    expect(last(page).locator(".said")).to_have_text("seven")


def test_text_is_shown_as_it_was_meant(page: Any) -> None:
    add(page, "Ferry.md", STORY)
    heading = page.locator(".heading")
    expect(heading).to_have_text("Ferry", use_inner_text=True)  # what marks it is there, and not shown
    assert heading.text_content() == "# Ferry"
    assert [row.split() for row in page.locator("#text .row").all_inner_texts()] == [
        ["day", "ships"], ["Monday", "two"], ["Tuesday", "three"],
    ]  # fmt: skip
    assert page.text_content("#text") == STORY


def test_markdown_is_shown_as_it_is_meant_and_stays_as_it_is(page: Any) -> None:
    text = (
        "A **bold** and *soft* `f(x)`, [the rules](https://ferry.example/a), 2 * 3 * 4.\n\n```py\nx = 1\n# no heading\n"
        "```\n\n* item **open\n"
    )
    add(page, "a.md", text)
    assert page.text_content("#text") == text
    shown = page.inner_text("#text").split("\n")
    assert shown[0] == "A bold and soft f(x), the rules, 2 * 3 * 4."
    assert "".join(shown[1:]) == "x = 1# no headingitem **open"  # the style sheet draws the bullet
    assert page.locator("#text .heading").count() == 0
    page.fill("#find", "rules")
    expect(page.locator("#text mark")).to_have_text("rules")
    assert page.text_content("#text") == text


def test_wherever_one_reads_one_stays_when_the_pane_is_resized(page: Any) -> None:
    add(page, "a.md", "".join(f"## Part {n}\n\nThe ferry sails at {n}, as it did.\n\n" for n in range(60)))
    for top in range(300, 420, 10):
        page.evaluate("(top) => document.getElementById('text').scrollTop = top", top)
        page.wait_for_timeout(50)
        page.set_viewport_size({"width": 1280, "height": 600 + top % 20})
        page.wait_for_timeout(50)
        assert abs(page.evaluate("document.getElementById('text').scrollTop") - top) < 120


def test_sentences_of_a_written_answer_cite_their_sources(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    add(page, "a.txt", "The ferry sails at noon. It is red.")
    sources = tuple(events.Source(n, "a", None, None, chars, 0.5, "", None, None, 1) for n, chars in
                    enumerate([(0, 24), (25, 35)]))  # fmt: skip
    answer = events.AnswerFinished("It is red 🚢. It sails at noon.", "stop", "wim", "m", sources, USAGE, 2, 2,
                                 citations=((12, 1), (31, 0)))  # fmt: skip
    told(page, monkeypatch, "What of it?", begun("a", segments=2), answer)
    expect(last(page).locator(".said")).to_have_text("It is red 🚢.2 It sails at noon.1")
    page.locator(".cite", has_text="2").click()
    expect(page.locator("mark")).to_have_text("It is red.")


def test_nobody_is_left_out(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(state: str) -> None:
        assert violations(page) == [], state

    check("welcome")
    add(page, "Ferry.md", STORY)
    check("a document")
    page.fill("#find", "noon")
    expect(page.locator("#text mark")).to_have_text("noon")  # in what is not read
    check("a word found")
    page.press("#find", "Escape")
    expect(page.locator("#hits")).to_have_text("")
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.locator("#text mark").count() == 0
    told(page, monkeypatch, "When does it sail?", begun("Ferry", segments=2),
         *margin(0, "Ferry", (9, 33), "The ferry sails at noon."), *margin(1, "Ferry", (0, 7), "# Ferry"),
         events.Warning("Take care."),
         finished("noon", short="noon", status="unsure",
                  quotes=(events.Quote("The ferry sails at noon.", "Ferry", None, "Ferry", (9, 33)),)))  # fmt: skip
    check("an answer")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    last(page).locator("[aria-label='Ignore this passage']").click()
    last(page).locator(".more summary").click()
    check("an ignored passage, and details")
    told(page, monkeypatch, "Who sails it?", begun("Ferry", segments=2),
         finished("It does not say.", status="not_found",
                  quotes=(events.Quote("noon", "Ferry", None, None, (29, 33)),)))  # fmt: skip
    page.set_input_files("#file", file("picture.bin", b"\0\1"))
    expect(page.locator("#alert")).to_contain_text("Couldn’t open picture.bin")
    check("nothing found, and a file that cannot be opened")
    page.click("#alert button")
    for dialog in ("settings", "keys"):
        page.click(f"#open-{dialog}")
        check(dialog)
        page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    for pane in ("shelf", "desk", "talk"):
        page.click(f"[data-to={pane}]")
        check(f"narrow, {pane}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_keys_and_the_way_back_show_the_pane(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    page.click("[data-to=shelf]")
    text = "".join(f"The mail comes on day {n}.\n\n" for n in range(80)) + "The ferry sails at noon."
    add(page, "a.txt", text)
    page.click("[data-to=talk]")
    quote = events.Quote("The ferry sails at noon.", "a", None, None, (len(text) - 24, len(text)))
    told(page, monkeypatch, "When does it sail?", begun("a"), finished("noon", short="noon", quotes=(quote,)))
    page.click("[data-to=desk]")  # not by the quotation
    expect(page.locator("#text mark")).to_be_in_viewport()
    page.go_back()
    expect(last(page).locator(".said")).to_be_visible()
    page.go_back()
    expect(page.locator("#text")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "question"
    expect(page.locator("#question")).to_be_visible()
