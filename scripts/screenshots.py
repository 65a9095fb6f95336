"""Takes screenshots of the page, in a real reading of its example by the embedded model, and one of the terminal.

    pip install -e '.[dev]'      and a Chromium
    python scripts/screenshots.py [--out docs]          page.png (a laptop), page-dark.png, page-narrow.png (a phone),
                                                        ask.svg (`wim-edge ask`)
    python scripts/screenshots.py --all --out FOLDER    every state at four sizes, light and dark
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright
from rich.console import Console

from wim_edge import Runtime, Settings, events
from wim_edge.cli.display import Live
from wim_edge.server.app import create_app

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = ((1440, 900), (1024, 768), (768, 1024), (390, 844))
GPL, COPY = "examples/gpl-3.0.txt", "How long must the written offer for source code be valid?"
RENT, ABSENT = "When is the rent due?", "What is the telephone number of the dentist?"
SOLD = "The boat of Sandvik was sold for 4,000 crowns."
OTHER = "The caretaker's list\n\nBring these:\n\n- a key\n- a lamp\n- the meter readings\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--all", action="store_true", help="every state at four sizes, light and dark")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    shots = [(size, scheme) for size in SIZES for scheme in ("light", "dark")] if options.all else [(SIZES[0], "light")]
    for size, scheme in shots:
        with serving() as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
            page: Any = browser.new_page(viewport={"width": size[0], "height": size[1]})
            page.emulate_media(color_scheme=scheme)
            page.goto(address)
            if options.all:
                every_state(page, options.out / f"{size[0]}-{scheme}")
            else:
                for_the_documents(page, options.out)
                record_terminal(options.out / "ask.svg")
            browser.close()


def for_the_documents(page: Any, out: Path) -> None:
    """Takes the screenshots for the documentation."""
    page.click("#example")
    page.wait_for_selector("#title:visible")
    for question in (None, RENT):
        answer(page, question)
    page.locator(".card").last.locator(".quotes .link").first.click()
    photograph(page, out / "page.png")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1280, "height": 657})
    answer(page, ABSENT)
    photograph(page, out / "page-dark.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("[data-to=talk]")
    photograph(page, out / "page-narrow.png")


def record_terminal(path: Path) -> None:
    """Records the terminal output of a real run of `wim-edge ask`."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(f'$ wim-edge ask {Path(GPL).name} "{COPY}"', style="bold")
    display = Live(console)
    # A picture does not move: the live region is drawn once, where the answer begins
    display._live.start = lambda *_, **__: None  # type: ignore[method-assign]
    drawn = False
    with Runtime(Settings(model="smollm2-135m", save=False)) as runtime, chdir(ROOT):  # which the place is shown from
        for event in runtime.stream(GPL, COPY):
            if isinstance(event, events.AnswerDelta) and not drawn:
                console.print(display._progress)
                drawn = True
            display.show(event)
    console.save_svg(str(path), title="wim-edge ask")


def every_state(page: Any, out: Path) -> None:
    """Takes a screenshot of each state of the page, as ``out-state.png``."""

    def shot(state: str) -> None:
        photograph(page, out.with_name(f"{out.name}-{state}.png"))

    shot("1-start")
    page.click("#example")
    shot("2-document")
    page.press("#question", "Enter")
    page.wait_for_selector(".card .stop:not([hidden])")
    shot("3-reading")
    rest(page)
    shot("4-unsure")
    answer(page, "When was the house built?")
    shot("5-answered")
    answer(page, ABSENT)
    shot("6-not-found")
    answer(page, "What is this about?", "summary")
    shot("7-summary")
    page.locator(".card").last.locator(".more summary").click()
    shot("8-details")
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "list.md")
        other.write_text(OTHER)
        page.set_input_files("#file", str(other))
        page.locator("#documents li").nth(1).wait_for(state="attached")
        for number in range(2):
            page.evaluate(f"document.querySelectorAll('#documents input:not(:checked)')[0]?.click() ?? {number}")
        answer(page, "What does the caretaker bring?", "list")
        shot("9-list-of-two-documents")
        almanac = Path(folder, "almanac.md")
        almanac.write_text(SOLD + "".join(f"\n\nOn day {n} the harbour was quiet." for n in range(1500)))
        page.set_input_files("#file", str(almanac))
        page.locator("#documents li").nth(2).wait_for(state="attached")
        page.evaluate("document.getElementById('pattern').value = 'wim'")  # it checks all
        answer(page, "What did the boat of Sandvik cost?", ends=False)
        page.wait_for_selector(".card[data-state=provisional]", timeout=120_000)
        shot("9-provisional")
        page.locator(".card").last.locator(".now").click()
        wrong = Path(folder, "picture.bin")
        wrong.write_bytes(b"\0\1\2\3")
        page.set_input_files("#file", str(wrong))
        page.wait_for_selector("#alert:not([hidden])")
        shot("10-error")
    page.click("#alert button")
    page.click("#open-settings")
    shot("11-settings")


def find_browser() -> str | None:
    """Returns the path of a browser on this machine; None if there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def answer(page: Any, question: str | None, kind: str = "", *, ends: bool = True) -> None:
    """Asks a question (None: the one that the page proposes). Waits for the answer, unless ``ends`` is False."""
    if page.locator("[data-to=talk]").is_visible():
        page.click("[data-to=talk]")
    page.select_option("#kind", kind)
    if question:
        page.fill("#question", question)
    page.press("#question", "Enter")
    if ends:
        rest(page)


def rest(page: Any) -> None:
    """Waits until the last card has its answer."""
    last = page.locator(".card").last
    last.locator(".copy:not([hidden])").wait_for(timeout=120_000)
    last.locator(".stop").wait_for(state="hidden", timeout=120_000)


def photograph(page: Any, path: Path) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)  # what moves has arrived
    page.screenshot(path=path)
    print(path)


@contextmanager
def serving() -> Iterator[str]:
    """Serves the page with a temporary home folder, and yields the page's address."""
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
