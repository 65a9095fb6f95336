"""The page, end to end: a real browser, the real server, the real embedded model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import serving
from wim_edge import Settings
from wim_edge.server.app import create_app

sync_api = pytest.importorskip("playwright.sync_api")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
SECONDS = 120_000  # milliseconds that a real model may take


@pytest.fixture
def page(smollm2: Path) -> Iterator[Any]:
    settings = Settings(model=str(smollm2), segment_tokens=128, answer_tokens=24)
    with serving(create_app(settings)) as address, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(SECONDS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(address) else None)
        page.goto(address)
        yield page
        assert not wrong
        browser.close()


def ask(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def answered(page: Any) -> str:
    """Waits until it is; what the page says of it."""
    page.wait_for_selector("#go:not([hidden])")
    sync_api.expect(page.locator("#told")).to_contain_text("answer")
    return str(page.inner_text("#told"))


def test_a_document_is_read_stopped_judged_and_asked_again(page: Any, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "licence 🚢.md"
    path.write_text(f"# Licence 🚢\n\n{long_text[:7000]}", encoding="utf-8")
    assert page.is_disabled("#go")
    page.set_input_files("#file", str(path))
    page.wait_for_selector("#reader:not([hidden])")
    assert page.inner_text("#title") == "Licence 🚢"

    # Watch it read, and stop it
    ask(page, "Who may copy it?")
    page.wait_for_selector(".margin")
    page.wait_for_selector(".segment.now")
    assert page.locator(".unread").inner_text()
    page.click("#now")
    assert "stopped early" in answered(page)
    n_read = page.locator(".segment").count()
    whole = page.inner_text("#text")

    # A margin leads to its characters, and those of a source too
    margin = page.locator(".margin").first
    said = margin.locator(".link").inner_text().strip("“”")
    margin.locator(".link").click()
    assert " ".join(page.inner_text("mark").split()) == " ".join(said.split())
    page.locator("#sources .link").first.click()
    assert page.locator("mark").count() == 1
    assert page.inner_text("#text").split() == whole.split()

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
    sync_api.expect(page.locator(".margin.rejected")).to_have_count(1)


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
    assert "<b>ferry</b>" in page.inner_text("#text")  # a document is text, never markup
    assert page.evaluate("window.hacked") is None
    page.click("#documents button[aria-label^='Let go']")
    page.wait_for_selector("#reader", state="hidden")
    sync_api.expect(page.locator("#documents li")).to_have_count(0)


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
