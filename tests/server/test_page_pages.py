"""A PDF as its own pages in a browser: drawn where they are near, tinted, marked, selected, and as text when wished."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents.make import pdf
from tests.server.browser import BROWSER, add, expect, last, violations
from tests.server.test_page_desk import begun, finished, told
from wim_edge import events

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
LINES = [b"Nothing stands on line %d that anyone would look for." % n for n in range(30)]


@pytest.fixture
def ferry(page: Any) -> Any:
    """The page, with a PDF of forty pages on the desk; the ferry sails on page 31."""
    pages = [b"\n".join([b"Page %d begins here." % n, *LINES]) for n in range(1, 41)]
    pages[30] += b"\nThe ferry sails at noon on all days but Sunday, when\nit is cleaned by its crew of three."
    add(page, "ferry.pdf", pdf(*pages))
    page.wait_for_selector(".sheet img[src]")
    return page


def chars(page: Any, text: str) -> tuple[int, int]:
    whole = page.evaluate("fetch('api/documents/1').then((one) => one.json())")["text"]
    return whole.index(text), whole.index(text) + len(text)


def test_what_is_far_is_not_drawn(ferry: Any) -> None:
    expect(ferry.locator(".sheet")).to_have_count(40)
    ferry.wait_for_function("() => document.querySelector('.sheet img').naturalWidth > 0")
    expect(ferry.locator(".sheet").first.locator(".line").first).to_have_text("Page 1 begins here.")
    assert ferry.locator(".sheet img[src]").count() < 8
    ferry.evaluate("document.getElementById('sheets').scrollTop = 1e6")
    expect(ferry.locator(".sheet").last.locator(".line").first).to_have_text("Page 40 begins here.")
    expect(ferry.locator(".sheet").first.locator(".line")).to_have_count(0)
    ferry.route("**/pages/20/image*", lambda route: route.abort())
    ferry.evaluate("document.querySelectorAll('.sheet')[19].scrollIntoView()")
    expect(ferry.locator(".sheet img").nth(19)).to_have_attribute("alt", "Page 20 cannot be shown")


def test_one_click_leads_to_a_quotation_of_another_card(ferry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, page in (("The ferry sails at noon", 31), ("Page 2 begins here", 2)):
        quote = events.Quote(words, "ferry", page, None, chars(ferry, words))
        answer = finished(f"{words}.", quotes=(quote,))
        told(ferry, monkeypatch, f"What of page {page}?", begun("ferry", segments=2), answer)
        expect(ferry.locator("mark")).to_contain_text(words)
    ferry.locator(".card").first.locator(".quotes .link").click()
    expect(ferry.locator("mark")).to_contain_text("The ferry sails at noon")
    ferry.locator(".remove").first.click()
    expect(ferry.locator(".card")).to_have_count(1)
    expect(ferry.locator("mark")).to_be_in_viewport()  # one stays where one is


def test_a_quotation_is_marked_where_it_stands_on_its_page(ferry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "The ferry sails at noon on all days but Sunday, when\nit is cleaned by its crew of three."
    start, end = chars(ferry, said.split("\n")[0])[0], chars(ferry, "its crew of three.")[1]
    segment = (start - 200, end)
    told(ferry, monkeypatch, "When does it sail?", begun("ferry", segments=2),
         events.SegmentRead(0, 2, "ferry", 31, None, segment, 9), events.SegmentScored(0, 0.9, 1),
         events.MarginJudged(0, "ferry", 31, None, segment, said, (start, end), 0.9, True),
         finished("noon", short="noon", quotes=(events.Quote(said, "ferry", 31, None, (start, end)),)))  # fmt: skip
    last(ferry).locator(".quotes .link").click()
    marks = ferry.locator("mark")
    expect(marks).to_have_count(2)
    assert " ".join(marks.all_text_contents()).split() == said.split()
    assert ferry.evaluate("document.activeElement.tagName") == "MARK"
    sheet, box, inside = ferry.locator(".sheet:has(mark)"), marks.first.bounding_box(), ferry.locator("#sheets")
    assert sheet.get_attribute("data-at") == "30"
    whole, view = sheet.bounding_box(), inside.bounding_box()
    assert box["y"] == pytest.approx(whole["y"] + whole["height"] * (42 + 31 * 14) / 792, abs=whole["height"] * 0.015)
    assert view["y"] < box["y"] < view["y"] + view["height"]
    assert sheet.locator("i[data-segment='0']").count() == 1  # of one column
    assert float(sheet.locator("i").first.evaluate("(one) => one.style.getPropertyValue('--r')")) == 0.9

    ferry.click("#as-text")
    expect(ferry.locator("#text mark")).to_contain_text("The ferry sails at noon")
    assert chars(ferry, "".join(ferry.locator(".segment").all_text_contents())) == segment
    ferry.click("#as-pages")
    expect(ferry.locator("#sheets mark")).to_have_count(2)
    expect(ferry.locator(".sheet:has(i)")).to_be_visible()


def test_the_words_of_a_page_can_be_selected(ferry: Any) -> None:
    line = ferry.locator(".line", has_text="Page 1 begins here.")
    line.select_text()
    assert ferry.evaluate("getSelection().toString().trim()") == "Page 1 begins here."
    box, sheet = line.bounding_box(), ferry.locator(".sheet").first.bounding_box()
    assert box["x"] == pytest.approx(sheet["x"] + sheet["width"] * 50 / 612, abs=3)
    assert box["width"] == pytest.approx(sheet["width"] * 108 / 612, rel=0.1)  # as wide as in the picture


def test_nobody_is_left_out_of_a_page(ferry: Any) -> None:
    ferry.wait_for_selector(".line")
    assert violations(ferry) == []
    ferry.emulate_media(color_scheme="dark")
    assert "brightness" in ferry.locator(".sheet img").first.evaluate("(one) => getComputedStyle(one).filter")
    ferry.set_viewport_size({"width": 390, "height": 844})
    assert ferry.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_reader_stays_where_the_reader_is(ferry: Any) -> None:
    ferry.fill("#page", "13")
    ferry.keyboard.press("Enter")
    expect(ferry.locator(".line", has_text="Page 13 begins here.")).to_be_in_viewport()
    ferry.click("#as-text")
    expect(ferry.locator("#text")).to_be_visible()
    ferry.wait_for_timeout(300)
    shown = ferry.evaluate(
        """() => { const box = document.getElementById("text").getBoundingClientRect();
        return [...document.querySelectorAll("#text .page")].filter((one) => {
          const { top } = one.getBoundingClientRect(); return top >= box.top - 200 && top <= box.bottom;
        }).map((one) => one.dataset.label) }"""
    )
    assert any("13" in one or "14" in one for one in shown), shown
    ferry.click("#as-pages")
    ferry.wait_for_timeout(300)
    assert int(ferry.input_value("#page")) in (12, 13)
    ferry.set_viewport_size({"width": 1000, "height": 700})
    ferry.wait_for_timeout(300)
    assert int(ferry.input_value("#page")) in (12, 13)
    ferry.click("#closer")
    ferry.wait_for_timeout(300)
    assert int(ferry.input_value("#page")) in (12, 13)
    assert ferry.locator(".sheet").nth(12).bounding_box()["width"] > ferry.locator("#sheets").bounding_box()["width"]


def test_a_drag_between_lines_selects_what_is_between(ferry: Any) -> None:
    first, last = (ferry.locator(".sheet").first.locator(".line").nth(n) for n in (1, 4))
    start, end = first.bounding_box(), last.bounding_box()
    ferry.mouse.move(start["x"] + 1, start["y"] + start["height"] / 2)
    ferry.mouse.down()
    ferry.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=8)
    ferry.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] + 1.5, steps=3)  # in the gap below it
    ferry.mouse.up()
    said = ferry.evaluate("getSelection().toString()")
    assert "line 0" in said
    assert "Page 1 begins" not in said
