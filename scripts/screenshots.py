"""Photograph the page for the documentation, from a real reading of its example by the embedded model.

    pip install -e '.[dev]'      and a Chromium
    python scripts/screenshots.py [--out docs]

Writes page.png (a laptop, light), page-dark.png (less high, a margin rejected) and page-narrow.png (a phone).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from wim_edge import Settings
from wim_edge.server.app import create_app

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "How much may the rent be raised?"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.click("#example")
        page.wait_for_selector("#title:visible")
        for question in (None, QUESTION):
            answer(page, question)
        page.locator("#asked .link").last.click()
        page.wait_for_selector("#export:not([hidden])")
        page.click("#quotes .link")
        photograph(page, options.out / "page.png")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 1280, "height": 657})
        page.click(".margin .down")
        photograph(page, options.out / "page-dark.png")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 390, "height": 844})
        page.click("[data-to=talk]")
        photograph(page, options.out / "page-narrow.png")
        browser.close()


def find_browser() -> str | None:
    """Returns the file of a browser on this machine; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def answer(page: Any, question: str | None) -> None:
    """Ask, by default what the page proposes, and wait for the answer."""
    if question:
        page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector("#now:not([hidden])")
    page.wait_for_selector("#now", state="hidden", timeout=120_000)


def photograph(page: Any, path: Path) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)  # what moves has arrived
    page.screenshot(path=path)
    print(path)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the page from a home of its own. Yields its address."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["WIM_EDGE_HOME"] = home
        server = uvicorn.Server(uvicorn.Config(create_app(Settings(model="smollm2-135m")), port=0, log_level="warning"))
        sock = server.config.bind_socket()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
