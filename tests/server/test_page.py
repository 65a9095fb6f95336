"""The page, end to end: a real browser, the real server, llama.cpp; once with the embedded model."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reading.mill import SURE
from tests.server.browser import (
    BROWSER,
    REAL_MODEL,
    SECONDS,
    add,
    answered,
    ask,
    choose_pattern,
    details,
    expect,
    file,
    last,
    opened,
)
from wim_edge import Runtime, Settings, catalog, session
from wim_edge.answer.judged import Answer
from wim_edge.answer.wording import provisional_answer
from wim_edge.catalog import ModelEntry
from wim_edge.errors import DownloadError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading.reading import Reading
from wim_edge.server import job_queue
from wim_edge.server.app import create_app
from wim_edge.settings import Paths
from wim_edge.testing import FakeModel

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]


@REAL_MODEL
def test_a_document_is_read_stopped_judged_and_asked_again(page: Any, long_text: str) -> None:
    add(page, "Licence 🚢.md", f"# Licence 🚢\n\n{long_text[:1000]}")
    assert page.inner_text("#title") == "Licence 🚢"

    # Watch it read, and stop it
    choose_pattern(page, "wim")
    ask(page, "Who may copy it?")
    card = last(page)
    page.wait_for_selector(".segment.now")
    expect(card.locator(".passage").first).to_be_attached(timeout=SECONDS)
    card.locator(".now").click()
    assert "stopped early" in answered(page)
    n_read, whole = page.locator(".segment").count(), page.text_content("#text")

    # A quotation leads to its characters, and so does another passage
    quote = card.locator(".quotes .link").first
    quote.click()
    assert " ".join(page.inner_text("mark").split()) == " ".join(quote.inner_text().strip("“”").split())
    assert page.text_content("#text").split() == whole.split()
    answer = card.locator(".said").inner_text()

    # A reload keeps the state
    page.reload()
    answered(page)
    assert last(page).locator(".said").inner_text() == answer
    expect(page.locator(".segment")).to_have_count(n_read)

    # The next question reads on from where it stopped, the one after it nothing
    for question in ("What is the GPL for?", "Who may change it?"):
        ask(page, question)
        answered(page)
        assert "kept from earlier questions" in details(last(page))
    expect(page.locator(".card")).to_have_count(3)
    assert "1 cached reading" in str(page.get_attribute("#machine", "title"))


def test_a_passage_is_ignored_and_the_answer_given_again(page: Any, long_text: str) -> None:
    add(page, "licence.txt", long_text[:600])
    choose_pattern(page, "wim")
    ask(page, "Who may copy it?")
    answered(page)
    card = last(page)
    n_read = page.locator(".segment").count()
    card.locator(".others summary").click()
    card.locator("[aria-label='Ignore this passage']").first.click()
    expect(card.locator(".passage.ignored")).to_have_count(1)
    card.locator(".again").click()
    expect(card.locator(".again")).to_be_hidden()
    answered(page)
    assert "kept from earlier questions" in details(card)
    expect(page.locator(".segment")).to_have_count(n_read)
    expect(card.locator(".passage.ignored")).to_have_count(1)
    page.reload()
    answered(page)
    expect(page.locator(".passage.ignored")).to_have_count(1)


def test_the_reading_goes_on_after_the_answer(page: Any, long_text: str) -> None:
    add(page, "licence.txt", long_text[:2600])
    choose_pattern(page, "wim-shallow")
    ask(page, "Who may copy and distribute verbatim copies of this license document?")
    assert " of " in answered(page)
    card, n_read, text = last(page), page.locator(".segment").count(), page.text_content("#text")
    card.locator(".keep").click()
    expect(card.locator(".stop")).to_be_visible()
    answered(page)
    assert page.locator(".segment").count() > n_read
    assert card.locator(".said").inner_text()

    # To the end; another question comes before that
    page.check("#keep")
    card.locator(".keep").click()
    expect(card.locator(".stop")).to_be_visible()
    ask(page, "How long must the written offer be valid?")
    answered(page, page.locator(".card").first)
    expect(page.locator(".unread")).to_have_count(0, timeout=SECONDS)
    assert " of " not in answered(page)
    expect(card.locator(".keep")).to_be_hidden()
    assert all(page.locator(".said").all_inner_texts())
    assert len(text) == len(page.text_content("#text"))


def test_what_goes_wrong_is_shown(page: Any) -> None:
    page.set_input_files("#file", file("picture.bin", b"\0\1\2\3"))
    page.wait_for_selector("#alert:not([hidden])")
    assert "picture.bin" in page.inner_text("#alert")
    page.click("#alert button")
    assert page.is_hidden("#alert")
    add(page, "good.txt", "The <b>ferry</b> sails at noon. <script>window.hacked = 1</script>")
    choose_pattern(page, "wim")
    ask(page, "When does it sail?")
    answered(page)
    assert "<b>ferry</b>" in page.text_content("#text")  # a document is text, never markup
    assert page.evaluate("window.hacked") is None
    page.click("#documents button[aria-label^='Remove']")
    page.wait_for_selector("#reader", state="hidden")
    expect(page.locator("#documents li")).to_have_count(0)


def test_what_goes_wrong_stays_until_it_is_read(page: Any, long_text: str) -> None:
    add(page, "long.txt", long_text * 2)
    choose_pattern(page, "llm")
    ask(page, "Who may copy it?")
    expect(last(page).locator(".said")).to_contain_text("tokens", timeout=SECONDS)
    expect(last(page).locator(".word")).to_have_text("Failed")
    old = file("old.txt", "Das Schiff fährt um zwölf Uhr.".encode("cp1252"))
    page.set_input_files("#file", [file("empty.txt", b""), old])  # one that is wrong keeps the other from nothing
    expect(page.locator("#notes")).to_contain_text("windows-1252")
    expect(page.locator("#alert")).to_contain_text("empty")
    assert page.input_value("#file") == ""
    expect(page.locator("#documents")).to_contain_text("old")


def test_a_model_is_fetched_with_its_progress_and_chosen(
    page: Any, gemma3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on: list[bool] = []
    failing = [True]

    def fetch(entry: ModelEntry, progress: Callable[[int, int | None], None]) -> Path:
        progress(entry.bytes // 2, entry.bytes)
        while not go_on:
            time.sleep(0.01)
        if failing.pop() if failing else False:
            go_on.clear()
            raise DownloadError("the network is gone", "Connect it again.")
        own = Paths.from_environment().models / entry.name / gemma3.name
        own.parent.mkdir(parents=True, exist_ok=True)
        own.symlink_to(gemma3)
        return own

    monkeypatch.setattr(catalog, "fetch", fetch)
    page.click("#open-settings")
    page.click("#more-models summary")
    row = page.locator("#settings fieldset:first-of-type li", has_text="gemma3-270m")
    expect(row.locator("button")).to_have_text("Download")
    row.locator("button").click()
    expect(row.locator("button")).to_have_text("50%")
    go_on.append(True)
    expect(page.locator("#alert")).to_contain_text("the network is gone. Connect it again.")
    row.locator("button").click()  # once more
    expect(row.locator("button")).to_have_text("50%")
    go_on.append(True)
    row.locator("input").check()
    page.keyboard.press("Escape")
    add(page, "a.txt", "The ferry sails at noon. It is a small ship.")
    ask(page, "When does it sail?")
    answered(page)
    assert "gemma3-270m" in details(last(page))
    expect(row).to_contain_text("in use")


def test_a_question_may_go_on_from_the_one_before(page: Any, long_text: str) -> None:
    add(page, "a.txt", long_text[:500])
    ask(page, "Who may copy it in 2021?")
    answered(page)
    expect(last(page).locator(".settled")).to_be_hidden()
    ask(page, "and in 2022?")
    settled = last(page).locator(".settled")
    expect(settled).to_have_text(re.compile(r"Asked as: Who may copy it in 2021\?.* and in 2022\?"), timeout=SECONDS)
    answered(page)
    last(page).locator(".alone").click()
    expect(page.locator(".card")).to_have_count(3, timeout=SECONDS)
    expect(last(page).locator(".settled")).to_be_hidden()
    answered(page)


def test_a_sure_answer_is_shown_while_the_reading_goes_on(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, told, go_on = FakeModel(lambda _: "4,000 crowns"), [], threading.Event()

    def once(reading: Reading) -> Answer | None:
        """The first answer, and no further one until the test has seen it."""
        if not told:
            told.extend(filter(None, [provisional_answer(reading)]))
            return told[0] if told else None
        go_on.wait(60)
        return None

    monkeypatch.setattr(session, "provisional_answer", once)
    monkeypatch.setattr(LoadedModels, "support", SURE)
    settings = Settings(pattern="wim-shallow", prose=False, save=False, segment_tokens=48, within="all")
    monkeypatch.setattr(job_queue, "Runtime", lambda settings: Runtime(settings, model=model))
    app = create_app(settings)
    days = (f"The weather of day {n} was fine, and nobody was out." for n in range(60))
    text = "\n\n".join(["She paid 4,000 crowns for the old mill.", *days])
    with opened(browser, app) as page:
        add(page, "mill.txt", text)
        ask(page, "What did Brandt pay?")
        card = last(page)
        expect(card.locator(".word")).to_have_text("So far")
        expect(card.locator(".said")).to_have_text("4,000 crowns")
        expect(card.locator(".sum")).to_contain_text("Still checking")
        card.locator(".quotes .quoted").click()
        expect(page.locator("mark")).to_have_text("She paid 4,000 crowns for the old mill.")
        expect(card.locator(".now")).to_be_visible()
        go_on.set()
        answered(page)
        expect(card.locator(".word")).not_to_have_text("So far")
        assert card.locator(".said").inner_text()


def test_a_judge_is_chosen(page: Any) -> None:
    choose_pattern(page, "smollm2-135m", "#judge")
    shown = page.locator("#judge option")
    expect(shown).to_have_text(["default (the model itself)", "the model itself", "smollm2-135m"])
    add(page, "a.txt", "The ferry sails at noon.")
    with page.expect_request("**/api/questions") as asked:
        ask(page, "When does it sail?")
    assert asked.value.post_data_json["options"] == {"judge": "smollm2-135m"}
    answered(page)
    assert "llama, judged by smollm2-135m · wim-shallow" in details(last(page))
    expect(page.locator("#machine")).to_have_attribute("title", re.compile("^llama, judged by smollm2-135m;"))
    choose_pattern(page, "", "#judge")
    ask(page, "When does it sail to the island?")
    answered(page)
    assert "judged by" not in details(last(page))
