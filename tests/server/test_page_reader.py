"""What the page shows of a text and of an answer, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.documents.make import pdf
from tests.server.browser import BROWSER, REAL_MODEL, add, answered, ask, last
from wim_edge import Runtime, events

WITHIN = "The text says “Anna Lind signed it.” of her."
LONG = "It was signed by her, as one reads." + " She did." * 12
pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]


@REAL_MODEL
def test_it_is_usable_by_keyboard_and_named_for_screen_readers(page: Any) -> None:
    add(page, "a.txt", "The ferry sails at noon. It is a small ship.")
    page.keyboard.press("Tab")
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, progress')].filter(one =>
        !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).map(one => one.outerHTML)"""
    )
    assert unnamed == []
    page.focus("#question")
    page.keyboard.type("When does it sail?")
    page.keyboard.press("Enter")
    answered(page)
    last(page).locator(".quotes .link").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_margins_of_a_pdf_name_their_page(page: Any, long_text: str) -> None:
    lines = [line.strip().translate({ord(c): "" for c in "()\\"}) for line in long_text[:2000].split("\n")]
    pages = ("\n".join(lines[i : i + 12]).encode("latin-1") for i in range(0, 36, 12))
    add(page, "licence.pdf", pdf(*pages))
    ask(page, "Who may copy it?")
    answered(page)
    places = last(page).locator(".passage .where, .quotes .place").all_inner_texts()
    assert places
    assert all(place.startswith(("page 1", "page 2", "page 3")) for place in places if place)
    last(page).locator(".quotes .link").first.click()  # the place that is named is where the mark then stands
    assert page.inner_text("mark").strip()


@pytest.mark.parametrize(("status", "text", "shown", "large"), [
    ("answered", "Anna Lind\n\n“Anna Lind signed it.” (page 3)", "Anna Lind", True),
    ("unsure", "Perhaps: Anna Lind\n\n“Anna Lind signed it.”", "Anna Lind", True),
    ("unsure", "Perhaps: Yes.\n\n“Anna Lind signed it.”", "Perhaps: Yes.", True),
    ("unsure", "Perhaps: Anna Lind; 7\n\nwho: Anna Lind signed it. (Costs)", "Anna Lind; 7", True),
    ("not_found", "The text does not seem to say.\n\nNearest: “Anna Lind signed it.”",
     "The text does not seem to say.", False),
    ("answered", LONG, LONG, False),
    ("answered", WITHIN, WITHIN, True),
])  # fmt: skip
def test_an_answer_is_shown_in_its_parts(
    page: Any, monkeypatch: pytest.MonkeyPatch, status: Any, text: str, shown: str, large: bool
) -> None:
    def stream(self: Runtime, documents: Any, question: str, **_: Any) -> Iterator[events.Event]:
        yield events.ReadingStarted("m", "wim", ("a",), 1, 9, 512, 1, "bm25")
        yield events.SegmentRead(0, 1, "a", None, None, (0, 27), 9)
        quote = events.Quote("Anna Lind signed it.", "a", None, "Costs", (7, 27), "| who |")
        usage = events.Usage(9, 0, 1, {"total": 1.0}, 1)
        short = "" if status == "not_found" else "Yes" if "Yes." in text else "Anna Lind"
        yield events.AnswerDelta(text)
        yield events.AnswerFinished(text, "stop", "wim", "m", (), usage, 1, 1, 0.0, status, short, (7, 16), (quote,),
                                    0.4, ("123",), query=query)  # fmt: skip

    query = "SELECT who, MAX(n) FROM t" if "7" in text else ""
    monkeypatch.setattr(Runtime, "stream", stream)
    add(page, "a.txt", "Hello. Anna Lind signed it.")
    ask(page, "Who signed it?")
    answered(page)
    card = last(page)
    assert card.locator(".said").inner_text() == shown
    assert ("large" in card.locator(".said").get_attribute("class")) == large
    assert card.locator(".short").is_visible() == (not large and status != "not_found")
    assert card.get_by_text("Closest passages").is_visible() == (status == "not_found")
    assert ("Not certain" in card.locator(".advice").inner_text()) == (status == "unsure" and not query)
    assert ("Worked out from the table" in card.locator(".advice").inner_text()) == bool(query)
    assert "In no passage: 123" in card.locator(".advice").inner_text()
    assert "who: Anna Lind signed it." in card.locator(".quotes").inner_text()
    card.locator(".quotes .link").click()
    assert page.inner_text("mark") == "Anna Lind signed it."


def test_whatever_is_read_of_a_text_it_is_shown_whole(page: Any) -> None:
    wrong = page.evaluate(
        """async () => {
          const { Reader } = await import("./reader.js");
          let seed = 7;
          const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
          const wrong = [];
          for (const [paragraph, shuffled] of [90, 3000, 70000].flatMap((one) => [[one, false], [one, true]])) {
            const letters = ["a", "é", " ", "🚢"];
            const text = Array.from({ length: 200000 }, (_, i) => i % paragraph ? letters[random(4)] : "\\n").join("");
            const chars = [...text], article = document.createElement("article");
            const reader = new Reader(article);
            reader.show({ text });
            const segments = [];
            for (let at = 0; at < chars.length;) {
              const start = at + (random(9) ? 0 : random(50)), end = Math.min(chars.length, start + 1 + random(6000));
              segments.push([segments.length, [start, end]]);
              at = end;
            }
            for (let n = shuffled ? segments.length - 1 : 0; n > 0; n--) {
              const other = random(n + 1);
              [segments[n], segments[other]] = [segments[other], segments[n]];
            }
            for (const [segment, [start, end]] of segments) {
              reader.read({ segment, chars: [start, end] });
              const made = reader.segments.get(segment).map((one) => one.textContent).join("");
              const whole = article.textContent === text && made === chars.slice(start, end).join("");
              if (!whole) wrong.push([paragraph, segment]);
              if (!random(5)) reader.go([[start, end]]);
            }
            const left = [...article.querySelectorAll(".unread")].reduce((sum, one) => sum + one.textContent.length, 0);
            const read = segments.reduce((sum, [, [start, end]]) => sum + chars.slice(start, end).join("").length, 0);
            if (article.textContent !== text || left + read !== text.length) wrong.push([paragraph, "end"]);
            const longest = Math.max(...[...article.children].map((one) => one.textContent.length));
            if (longest > 60000) wrong.push([paragraph, longest]);
          }
          return wrong;
        }"""
    )
    assert wrong == []
