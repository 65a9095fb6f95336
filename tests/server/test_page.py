"""The page, end to end: a real browser, the real server, the real embedded model."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.documents.make import pdf
from tests.server.conftest import serving
from wim_edge import Runtime, Settings, catalog, events
from wim_edge.catalog import ModelEntry
from wim_edge.errors import DownloadError
from wim_edge.server.app import create_app
from wim_edge.settings import Paths

pytest.importorskip("playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
SECONDS = 120_000  # milliseconds that a real model may take


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # here: each worker imports this file

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, smollm2: Path) -> Iterator[Any]:
    settings = Settings(model=str(smollm2), segment_tokens=128, margin_tokens=16, answer_tokens=8)
    with serving(create_app(settings)) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(address) else None)
        page.goto(address)
        yield page
        assert not wrong


def expect(what: Any) -> Any:
    from playwright import sync_api

    return sync_api.expect(what)


def ask(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def ask_of_a_part(page: Any, tmp_path: Path, text: str) -> None:
    """A question that is answered from a few segments of the text."""
    path = tmp_path / "licence.txt"
    path.write_text(text, encoding="utf-8")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    page.click("#settings summary")
    page.select_option("#pattern", "wim-shallow")
    ask(page, "Who may copy and distribute verbatim copies of this license document?")


def answered(page: Any) -> str:
    """Waits until it is; what the page says of it."""
    expect(page.locator("#told")).to_contain_text("answer", timeout=SECONDS)
    page.wait_for_selector("#now", state="hidden")
    return str(page.inner_text("#told"))


def test_a_document_is_read_stopped_judged_and_asked_again(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "licence 🚢.md"
    path.write_text(f"# Licence 🚢\n\n{long_text[:2000]}", encoding="utf-8")
    assert page.is_disabled("#go")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    assert page.inner_text("#title") == "Licence 🚢"

    # Watch it read, and stop it
    ask(page, "Who may copy it?")
    page.wait_for_selector(".margin")
    page.wait_for_selector(".segment.now")
    assert page.locator(".unread").last.inner_text()
    page.click("#now")
    assert "stopped early" in answered(page)
    n_read = page.locator(".segment").count()
    whole = page.text_content("#text")

    # A margin leads to its characters, and those of a source too
    margin = page.locator(".margin").first
    said = margin.locator(".link").inner_text().strip("“”")
    margin.locator(".link").click()
    assert " ".join(page.inner_text("mark").split()) == " ".join(said.split())
    page.locator("#sources .link").first.click()
    assert page.locator("mark").count() == 1
    quote = page.locator("#quotes .link").first
    quote.click()
    assert " ".join(page.inner_text("mark").split()) == " ".join(quote.inner_text().strip("“”").split())
    assert page.text_content("#text").split() == whole.split()

    # Judge a margin, and ask again: nothing is read
    assert page.is_hidden("#again")
    n_sources = page.locator("#sources li").count()
    page.locator(".margin.relevant button[aria-label*='not draw']").first.click()
    page.wait_for_selector(".margin.rejected")
    page.click("#again")
    page.wait_for_selector("#now:not([hidden])")
    assert "tokens known" in answered(page)
    assert page.locator(".segment").count() == n_read
    assert n_sources
    answer = page.inner_text("#text-of-answer")

    # A reload keeps the state
    page.reload()
    page.wait_for_selector(".margin.rejected")
    assert answered(page)
    assert page.inner_text("#text-of-answer") == answer
    assert page.locator(".segment").count() == n_read
    assert page.is_visible("#again")

    # The next question reads on from where it stopped, the one after it nothing
    for question in ("What is the GPL for?", "Who may change it?"):
        ask(page, question)
        page.wait_for_selector("#now:not([hidden])")
        told = answered(page)
        assert "tokens known from an earlier reading" in told
    assert page.locator("#asked li").count() == 3
    assert "kept" in page.inner_text("#machine")
    page.locator("#asked .link", has_text="Who may copy it?").click()
    expect(page.locator(".margin.rejected")).to_have_count(1)


def test_the_reading_goes_on_after_the_answer(page: Any, tmp_path: Path, long_text: str) -> None:
    ask_of_a_part(page, tmp_path, long_text[:3600])
    told = answered(page)
    assert "likely that another one answers better" in told
    n_read, text = page.locator(".segment").count(), page.text_content("#text")
    assert page.locator("#map i").count() == n_read
    page.locator("#map i").first.click()

    page.click("#on")
    page.wait_for_selector("#now:not([hidden])")
    told = answered(page)
    assert page.locator(".segment").count() > n_read
    assert page.locator("#map i").count() == page.locator(".segment").count()
    assert page.inner_text("#text-of-answer")

    # To the end, where there is nothing left to read on
    page.check("#keep")
    if page.is_visible("#on"):
        page.click("#on")
        page.wait_for_selector("#now:not([hidden])")
    expect(page.locator(".unread")).to_have_count(0, timeout=SECONDS)
    told = answered(page)
    assert "segments read" not in told
    assert page.is_hidden("#on")
    assert len(text) == len(page.text_content("#text"))


def test_a_question_comes_before_the_reading_in_the_background(page: Any, tmp_path: Path, long_text: str) -> None:
    ask_of_a_part(page, tmp_path, long_text[:5000])
    answered(page)
    answer = page.inner_text("#text-of-answer")
    page.check("#keep")
    page.click("#on")
    page.wait_for_selector("#now:not([hidden])")
    ask(page, "How long must the written offer be valid?")
    page.uncheck("#keep")
    expect(page.locator("#asked li")).to_have_count(2, timeout=SECONDS)
    answered(page)
    assert page.inner_text("#text-of-answer")
    page.locator("#asked .link", has_text="Who may copy").click()
    expect(page.locator("#text-of-answer")).to_have_text(answer)


def test_what_goes_wrong_is_shown(page: Any, tmp_path: Path) -> None:
    bad = tmp_path / "picture.bin"
    bad.write_bytes(b"\0\1\2\3")
    page.set_input_files("#file", str(bad))
    page.wait_for_selector("#alert:not([hidden])")
    assert "picture.bin" in page.inner_text("#alert")
    page.click("#alert button")
    assert page.is_hidden("#alert")
    good = tmp_path / "good.txt"
    good.write_text("The <b>ferry</b> sails at noon. <script>window.hacked = 1</script>")
    page.set_input_files("#file", str(good))
    page.wait_for_selector("#reader:not([hidden])")
    page.click("summary")
    page.select_option("#pattern", "wim")
    ask(page, "When does it sail?")
    page.wait_for_selector("#cancel:not([hidden])")
    answered(page)
    assert "<b>ferry</b>" in page.text_content("#text")  # a document is text, never markup
    assert page.evaluate("window.hacked") is None
    page.click("#documents button[aria-label^='Let go']")
    page.wait_for_selector("#reader", state="hidden")
    expect(page.locator("#documents li")).to_have_count(0)


def test_what_goes_wrong_stays_until_it_is_read(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "long.txt"
    path.write_text(long_text * 2)
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    page.click("summary")
    page.select_option("#pattern", "llm")
    ask(page, "Who may copy it?")
    expect(page.locator("#alert")).to_contain_text("tokens", timeout=SECONDS)
    page.wait_for_timeout(500)
    assert page.is_visible("#alert")
    old = tmp_path / "old.txt"
    old.write_bytes("Das Schiff fährt um zwölf Uhr.".encode("cp1252"))
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    page.set_input_files("#file", [str(empty), str(old)])  # one that is wrong keeps the other from nothing
    expect(page.locator("#notes")).to_contain_text("windows-1252")
    expect(page.locator("#alert")).to_contain_text("empty")
    assert page.input_value("#file") == ""
    expect(page.locator("#documents")).to_contain_text("old")


def test_a_rejected_margin_stays_though_the_text_is_read_anew(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(long_text[:1000])
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    ask(page, "Who may copy it?")
    answered(page)
    ask(page, "Who is protected by it?")  # which the cache holds now
    page.wait_for_selector("#now:not([hidden])")
    answered(page)
    page.locator("#asked .link", has_text="Who may copy it?").click()
    page.wait_for_selector(".margin.relevant")
    answered(page)
    page.locator(".margin.relevant button[aria-label*='not draw']").first.click()
    page.wait_for_selector(".margin.rejected")
    page.focus("#again")
    page.keyboard.press("Enter")
    page.wait_for_selector("#now:not([hidden])")
    answered(page)
    expect(page.locator(".margin.rejected")).to_have_count(1)
    assert page.evaluate("document.activeElement.id") in ("go", "now")  # where the button was that is hidden now


def test_it_is_usable_by_keyboard_and_named_for_screen_readers(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The ferry sails at noon. It is a small ship.")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
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
    page.focus("#sources .link")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MARK"
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_margins_of_a_pdf_name_their_page(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "licence.pdf"
    lines = [line.strip().translate({ord(c): "" for c in "()\\"}) for line in long_text[:2000].split("\n")]
    path.write_bytes(pdf(*("\n".join(lines[i : i + 12]).encode("latin-1") for i in range(0, 36, 12))))
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    ask(page, "Who may copy it?")
    answered(page)
    places = page.locator(".margin .faint").all_inner_texts()
    assert places
    assert all(place.startswith(("page 1 ", "page 2 ", "page 3 ")) for place in places)
    assert all(one.inner_text().startswith("page ") for one in page.locator("#sources .link").all())
    for margin in page.locator(".margin").all():  # the place that is named is where the mark then stands
        margin.locator(".link").click()
        assert page.inner_text("mark").strip()


def test_a_model_is_fetched_with_its_progress_and_chosen(
    page: Any, tmp_path: Path, gemma3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on: list[bool] = []
    failing = [True]

    def fetch(entry: ModelEntry, paths: Paths, progress: Callable[[int, int | None], None]) -> Path:
        progress(entry.bytes // 2, entry.bytes)
        while not go_on:
            time.sleep(0.01)
        if failing.pop() if failing else False:
            go_on.clear()
            raise DownloadError("the network is gone", "Connect it again.")
        own = paths.models / entry.name / gemma3.name
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(gemma3)
        return own

    monkeypatch.setattr(catalog, "fetch", fetch)
    page.click("summary")
    row = page.locator("#models li", has_text="gemma3-270m")
    expect(row.locator("button")).to_contain_text("Fetch")
    row.locator("button").click()
    expect(row.locator("button")).to_have_text("50%")
    go_on.append(True)
    expect(page.locator("#alert")).to_contain_text("the network is gone. Connect it again.")
    row.locator("button").click()  # once more
    expect(row.locator("button")).to_have_text("50%")
    go_on.append(True)
    row.locator("input").check()
    path = tmp_path / "a.txt"
    path.write_text("The ferry sails at noon. It is a small ship.")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    ask(page, "When does it sail?")
    assert "by gemma3-270m" in answered(page)
    expect(row).to_contain_text("loaded")


@pytest.mark.parametrize(("status", "text", "shown", "large"), [
    ("answered", "Anna Lind\n\n“Anna Lind signed it.” (page 3)", "Anna Lind", True),
    ("unsure", "Perhaps: Anna Lind\n\n“Anna Lind signed it.”", "Perhaps: Anna Lind", True),
    ("not_found", "The document does not seem to say.\n\nNearest: “Anna Lind signed it.”",
     "The document does not seem to say.", False),
    ("answered", "It was signed by her, as one reads.", "It was signed by her, as one reads.", False),
])  # fmt: skip
def test_an_answer_is_shown_in_its_parts(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: Any, text: str, shown: str, large: bool
) -> None:
    def stream(self: Runtime, documents: Any, question: str, **_: Any) -> Iterator[events.Event]:
        yield events.ReadingStarted("m", "wim", ("a",), 1, 9, 512, 1, "bm25")
        yield events.SegmentRead(0, 1, "a", None, None, (0, 27), 9)
        quote = events.Quote("Anna Lind signed it.", "a", None, "Costs", (7, 27), "| who |")
        usage = events.Usage(9, 0, 1, {"total": 1.0}, 1)
        short = "" if status == "not_found" else "Anna Lind"
        yield events.AnswerDelta(text)
        yield events.AnswerFinished(text, "stop", "wim", "m", (), usage, 1, 1, 0.0, status, short, (7, 16), (quote,),
                                    0.4, ("123",))  # fmt: skip

    monkeypatch.setattr(Runtime, "stream", stream)
    path = tmp_path / "a.txt"
    path.write_text("Hello. Anna Lind signed it.")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    ask(page, "Who signed it?")
    answered(page)
    assert page.inner_text("#text-of-answer") == shown
    assert (page.get_attribute("#text-of-answer", "class") == "short") == large
    assert page.is_visible("#short") == (not large and status != "not_found")
    assert page.is_visible("#quotes-title") == (status == "not_found")
    assert ("may be another" in page.inner_text("#status")) == (status == "unsure")
    assert "In no passage: 123" in page.inner_text("#status")
    assert "| who |" in page.inner_text("#quotes")
    page.locator("#quotes .link").click()
    assert page.inner_text("mark") == "Anna Lind signed it."


def test_a_question_may_go_on_from_the_one_before(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(long_text[:1500])
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    ask(page, "Who may copy it in 2021?")
    answered(page)
    assert not page.is_visible("#settled")
    ask(page, "and in 2022?")
    expect(page.locator("#settled")).to_have_text("Asked as: Who may copy it in 2022?", timeout=SECONDS)
    answered(page)


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
            const reader = new Reader(article, document.createElement("div"), () => null);
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
              reader.read({ segment, chars: [start, end] }, false);
              const { made } = reader.segments.get(segment);
              const whole = article.textContent === text && made.textContent === chars.slice(start, end).join("");
              if (!whole) wrong.push([paragraph, segment]);
              if (!random(5)) reader.go(segment, [start, end]);
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
