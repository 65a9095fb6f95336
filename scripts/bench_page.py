"""Measures what a reader of the page waits for in a browser, with a PDF of 300 pages.

    pip install -e '.[dev]'      and a Chromium
    python scripts/bench_page.py FILE.pdf [--pages 300] [--question Q] [--json]

The PDF's pages are repeated until there are ``--pages``. Figures are seconds, medians of several trials: `first_paint`
of the page; `open`, from choosing a file to its first page, with the extraction of its text; `reopen`, for a document
on the shelf; `marked`, from the click on a quotation to its mark on the page. From the browser's trace of a running
reading come the frames drawn (`frames`) and dropped per second, and the page's longest main-thread task in seconds
(`longest_task`). With a new made-up book of 100,000 tokens for each trial: `feedback`, from Enter to the question's
card; `first_card`, from Enter to an answer, provisional or not; `cpu_first_card`, the CPU seconds until then; and
`shown`, from the event of that answer to its card.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from screenshots import answer, find_browser, rest, serving

from wim_edge.reading.events import AnswerFinished, AnswerProvisional, Event
from wim_edge.server.job_queue import Job

QUESTION = "What is the library for?"
SECONDS = 6.0
"""The seconds of a reading in which frames are counted."""
TRACED = [f"disabled-by-default-devtools.timeline{part}" for part in ("", ".frame")]
BOOK = 440_000  # characters, 4.4 to a token
CLOCK = """() => {
  const now = () => (performance.timeOrigin + performance.now()) / 1000, times = window.times = {};
  const said = () => document.querySelector(".card:last-child .word")?.textContent;
  addEventListener("keydown", () => (times.asked ??= now()), { capture: true, once: true });
  new MutationObserver(() => requestAnimationFrame(() => {
    if (document.querySelector(".card")) times.card ??= now();
    if (["So far", "Found", "Check this", "Not found"].includes(said())) times.answer ??= now();
  })).observe(document.getElementById("thread"), { childList: true, subtree: true, characterData: true });
}"""
SHOWN = "() => (document.querySelector('.sheet img')?.naturalWidth ?? 0) > 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="with the command, as docs/results keeps it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        found = measure(browser, address, given, Path(folder))
        browser.close()
    if given.json:
        command = f"python scripts/bench_page.py FILE.pdf --pages {given.pages} --trials {given.trials} --json"
        print(json.dumps({"command": command, "pages": given.pages, **found}, indent=2))
    else:
        print("\n".join(f"{name:24}{value:8.2f}" for name, value in found.items()))


def measure(browser: Any, address: str, given: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Returns the figures by name."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    painted = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    paints, opened, reopened, marked = [], [], [], []
    for trial in range(given.trials):
        page.goto(address + "/")
        page.reload()
        paints.append(float(page.wait_for_function(painted).json_value()) / 1000)
        path = folder / f"{trial}.pdf"
        lengthened(given.pdf, path, given.pages)
        opened.append(seconds(page, partial(page.set_input_files, "#file", str(path))))
        page.goto("about:blank")
        reopened.append(seconds(page, partial(page.goto, address + "/")))  # with the document that was open
    answer(page, given.question)
    page.wait_for_selector(".quotes .link")
    for _ in range(given.trials):
        page.evaluate("document.getElementById('sheets').scrollTop = 0")
        page.wait_for_timeout(300)
        begun = time.perf_counter()
        page.locator(".quotes .link").first.click()
        page.wait_for_function("() => document.activeElement.tagName === 'MARK'")
        marked.append(time.perf_counter() - begun)
    drawing = while_reading(browser, page)
    figures = {"first_paint": paints, "open": opened, "reopen": reopened, "marked": marked}
    asked = [of_a_book(page, address, folder / f"book {trial}.txt", trial) for trial in range(given.trials)]
    figures |= {name: [one[name] for one in asked] for name in asked[0]}
    medians = {f"seconds_{name}": statistics.median(some) for name, some in figures.items()}
    return {**medians, **drawing}


def of_a_book(page: Any, address: str, path: Path, seed: int) -> dict[str, float]:
    """Returns the seconds from a question on a new book to the page's reactions, by name."""
    draw, told, tell = random.Random(seed), [], Job.tell
    names = [f"{first}{last}" for first in ("Bran", "Hol", "Ver", "Lin", "Mar") for last in ("dt", "ster", "gard")]
    text = "".join(
        f"In {draw.randint(1500, 1900)} {draw.choice(names)} of house {number} paid {draw.randint(9, 9000):,} crowns. "
        f"The {draw.choice(('harvest', 'winter', 'market'))} was {draw.choice(('poor', 'long', 'good'))} that year.\n\n"
        for number in range(BOOK // 80)
    )
    middle = len(text) // 2
    path.write_text(f"{text[:middle]}\n\nShe bought the old mill from the abbot for 4,000 crowns.\n\n{text[middle:]}")

    def timed(job: Job, event: Event) -> None:
        if isinstance(event, AnswerProvisional | AnswerFinished):
            told.append(time.time())
        tell(job, event)

    page.goto(address + "/")
    page.set_input_files("#file", str(path))
    page.wait_for_function("(name) => document.getElementById('title').textContent === name", arg=path.stem)
    page.evaluate(CLOCK)
    Job.tell = timed  # type: ignore[method-assign, assignment]
    page.fill("#question", "From whom did she buy the old mill?")
    begun = time.process_time()
    page.press("#question", "Enter")
    page.wait_for_function("() => window.times.answer", timeout=120_000)
    spent, times = time.process_time() - begun, page.evaluate("window.times")
    rest(page)
    Job.tell = tell  # type: ignore[method-assign]
    asked = times["asked"]
    return {"feedback": times["card"] - asked, "first_card": times["answer"] - asked,
            "shown": times["answer"] - told[0], "cpu_first_card": spent}  # fmt: skip


def lengthened(source: Path, path: Path, pages: int) -> None:
    """Writes a PDF of ``pages`` pages that repeats those of ``source``."""
    import pypdfium2

    one, whole = pypdfium2.PdfDocument(source), pypdfium2.PdfDocument.new()
    while len(whole) < pages:
        whole.import_pages(one, list(range(min(len(one), pages - len(whole)))))
    whole.save(path)


def seconds(page: Any, work: Callable[[], None]) -> float:
    """Returns the seconds from ``work`` until the document's first page is shown."""
    begun = time.perf_counter()
    work()
    page.wait_for_function(SHOWN)
    return time.perf_counter() - begun


def while_reading(browser: Any, page: Any) -> dict[str, float]:
    """Returns figures from the browser's trace while a whole document is read: frames drawn and dropped per second, and
    the longest task of the page's main thread, in seconds. The pages scroll with each frame, as if a person read along,
    because a still page draws no frames."""
    page.evaluate("document.getElementById('pattern').value = 'wim'")
    page.fill("#question", "What is said of memory?")
    page.press("#question", "Enter")
    page.wait_for_selector(".sheet i", state="attached")
    page.evaluate(
        """() => {
          const draw = () => { document.getElementById("sheets").scrollTop += 2; requestAnimationFrame(draw); };
          draw();
        }"""
    )
    browser.start_tracing(page=page, categories=TRACED)
    page.wait_for_timeout(1000 * SECONDS)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    page.locator(".card").last.locator(".stop").click()
    drawn, dropped = ([one["ts"] for one in events if one["name"] == name] for name in ("DrawFrame", "DroppedFrame"))
    seconds = (max(drawn) - min(drawn)) / 1e6
    threads = {(one["pid"], one["tid"]) for one in events
               if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"}  # fmt: skip
    tasks = [one.get("dur", 0) for one in events if one["name"] == "RunTask" and (one["pid"], one["tid"]) in threads]
    return {
        "frames": round((len(drawn) - 1) / seconds, 1), "dropped": round(len(dropped) / seconds, 1),
        "seconds_longest_task": max(tasks) / 1e6,
    }  # fmt: skip


if __name__ == "__main__":
    main()
