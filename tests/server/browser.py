"""What the tests of the page do in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 120_000  # milliseconds that a real model may take

REAL_MODEL = pytest.mark.parametrize("page", ["smollm2"], indirect=True)


def expect(what: Any) -> Any:
    from playwright import sync_api

    return sync_api.expect(what)


def send(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def ask(page: Any, question: str) -> None:
    """Asks, and waits until the server has accepted the question."""
    cards = page.locator(".card .answer").count()
    send(page, question)
    expect(page.locator(".card .answer")).to_have_count(cards + 1)


def last(page: Any) -> Any:
    """Returns the card of the last question."""
    return page.locator(".card").last


def answered(page: Any, card: Any = None) -> str:
    """Waits until a card, the last one unless one is given, has its answer; returns the line below that."""
    card = card or last(page)
    expect(card.locator(".stop")).to_be_hidden(timeout=SECONDS)
    expect(card.locator(".sum")).to_contain_text("Checked", timeout=SECONDS)
    return str(card.locator(".sum").inner_text())


def details(card: Any) -> str:
    """Returns the figures of a card."""
    return str(card.locator(".facts-list").text_content())


@contextmanager
def opened(browser: Any, app: Any) -> Iterator[Any]:
    """Serves an application, and yields its page."""
    from tests.server.conftest import serving

    with serving(app) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.goto(address)
        yield page


def choose_pattern(page: Any, name: str, field: str = "#pattern") -> None:
    page.click("#open-settings")
    if page.locator(field).is_hidden():
        page.click("#settings summary:has-text('Advanced')")
    page.select_option(field, name)
    page.click("#settings button:has-text('Close')")


def file(name: str, data: bytes) -> dict[str, Any]:
    """Returns a file for the page's input, as the browser takes it without a disk."""
    return {"name": name, "mimeType": "", "buffer": data}


def add(page: Any, name: str, text: str | bytes) -> None:
    """Puts a document on the shelf."""
    page.set_input_files("#file", file(name, text.encode() if isinstance(text, str) else text))
    expect(page.locator("#title")).to_be_visible()
    expect(page.locator("#documents [aria-current=true]")).to_contain_text(Path(name).stem)


def violations(page: Any) -> list[Any]:
    """Returns what axe finds wrong, in light and dark; of the dark only what colours do."""
    from axe_playwright_python.sync_playwright import Axe

    rules = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
    of_colours = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
    found = []
    for scheme, run_only in (("dark", of_colours), ("light", rules)):
        page.emulate_media(color_scheme=scheme)
        found += Axe().run(page, options={"runOnly": run_only}).response["violations"]
    return [(one["id"], [node["html"][:100] for node in one["nodes"][:3]]) for one in found]
