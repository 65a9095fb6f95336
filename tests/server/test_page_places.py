"""Ways to a place of a document on the page: words that are looked for, and its contents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents.make import pdf
from tests.server.browser import BROWSER, add, expect, file, violations

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
FERRY = """# Ferry

The 🚢 ferry sails at noon.

## Prices

A ticket for the FERRY
costs 4.

## Dogs 🐕

No dogs on the ferry (yet).
"""


TINTED = """(words) => words === [...CSS.highlights.get("found")].map(
    ({ startContainer, startOffset, endOffset }) => startContainer.data.slice(startOffset, endOffset)).join()"""


def find(page: Any, words: str, told: str) -> None:
    page.fill("#find", words)
    expect(page.locator("#hits")).to_have_text(told)


def test_words_are_found_and_contents_lead_to_places(page: Any) -> None:
    add(page, "Ferry.md", FERRY)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("f")
    page.keyboard.type("ferry")
    expect(page.locator("#hits")).to_have_text("1 of 4")
    page.keyboard.press("Enter")
    expect(page.locator("#hits")).to_have_text("2 of 4")
    expect(page.locator("#text mark")).to_have_text("ferry")
    page.wait_for_function(TINTED, arg="Ferry,FERRY,ferry")  # all others, as the one that is marked changes
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#hits")).to_have_text("4 of 4")  # around the end
    page.click("#hit-after")
    expect(page.locator("#hits")).to_have_text("1 of 4")
    find(page, "ferry costs", "1 of 1")  # over the end of a line
    expect(page.locator("#text mark")).to_have_text("FERRY costs")
    assert page.is_hidden("#hit-after")
    find(page, "(yet).", "1 of 1")
    expect(page.locator("#text mark")).to_have_text("(yet).")
    find(page, "zebra", "No matches")
    find(page, "", "")
    page.wait_for_function(TINTED, arg="")
    page.click("#open-contents")
    assert page.locator("#sections li").all_inner_texts() == ["Ferry", "Prices", "Dogs 🐕"]
    assert violations(page) == []
    page.locator("#sections .link").nth(2).click()
    expect(page.locator("#text mark")).to_have_text("Dogs 🐕")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    assert page.is_hidden("#contents")


def test_the_next_place_stays_though_the_words_were_typed_a_moment_before(page: Any) -> None:
    add(page, "Ferry.md", FERRY)
    find(page, "ferr", "1 of 4")
    page.evaluate("""() => {
        const find = document.getElementById("find");
        find.value = "ferry";
        find.dispatchEvent(new Event("input"));
        find.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    }""")
    page.wait_for_timeout(200)  # longer than the page waits for another letter
    assert page.inner_text("#hits") == "2 of 4"


def test_they_are_shown_on_the_pages_of_a_pdf(page: Any) -> None:
    pages = (b"Cover", b"1 Care\nWater the plants with infor-\nmation.", b"2 Light\nMuch of it.")
    add(page, "care.pdf", pdf(*pages, bookmarks=((b"Care", 1), (b"Light", 2))))
    page.wait_for_selector(".sheet img")
    find(page, "information", "1 of 1")  # broken where the line ends
    expect(page.locator(".sheet mark")).to_have_count(2)
    find(page, "th", "1 of 2")
    page.wait_for_function(TINTED, arg="th")
    page.click("#open-contents")
    assert page.locator("#sections li").all_inner_texts() == ["Care\n2", "Light\n3"]
    page.locator("#sections .link").nth(1).click()
    expect(page.locator("#page")).to_have_value("3")
    expect(page.locator(".sheet mark")).to_have_text("Light")


def test_a_document_stays_where_one_is_while_the_page_still_starts(page: Any) -> None:
    slow: list[Any] = []
    page.route("**/api/libraries", lambda route: route.continue_() if slow else slow.append(route))
    page.reload()
    page.set_input_files("#file", file("ferry.md", FERRY.encode()))
    page.wait_for_selector("#reader:not([hidden])")
    find(page, "ferry", "1 of 4")
    slow[0].continue_()
    page.wait_for_load_state("networkidle")
    assert page.inner_text("#hits") == "1 of 4"
    assert page.is_hidden("#alert")
