"""What the tests of the page do in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 120_000  # milliseconds that a real model may take

REAL_MODEL = pytest.mark.parametrize("page", ["smollm2"], indirect=True)


def expect(what: Any) -> Any:
    from playwright import sync_api

    return sync_api.expect(what)


def ask(page: Any, question: str) -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def answered(page: Any) -> str:
    """Waits until it is; what the page says of it."""
    expect(page.locator("#told")).to_contain_text("answer", timeout=SECONDS)
    page.wait_for_selector("#now", state="hidden")
    return str(page.inner_text("#told"))


def choose_pattern(page: Any, name: str) -> None:
    page.click("#open-settings")
    page.select_option("#pattern", name)
    page.click("#settings button:has-text('Close')")


def add(page: Any, path: Path, text: str) -> None:
    """Write a document and put it on the shelf."""
    path.write_text(text, encoding="utf-8")
    page.set_input_files("#file", str(path))
    expect(page.locator("#title")).to_be_visible()
    expect(page.locator("#documents [aria-current=true]")).to_contain_text(path.stem)
