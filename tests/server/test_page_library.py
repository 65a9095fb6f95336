"""Libraries and folders on the shelf, in a browser: asked, watched, and the recalled documents shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser import BROWSER, add, answered, ask, expect, last, opened
from wim_edge import Settings
from wim_edge.documents import Document
from wim_edge.library.library import Library
from wim_edge.server.app import create_app

pytestmark = [pytest.mark.real, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
FERRY = "The ferry of Norra is painted red. It sails at noon on all days but Sunday."
TRAIN = "The train leaves at one from the other side of the river, and nobody knows why."


@pytest.fixture
def library() -> Library:
    made = Library("port", create=True)
    for name, text in (("Ferry", FERRY), ("Train", TRAIN)):
        made.put(f"/{name}", [(name, Document(name, text))])
    return made


@pytest.fixture
def shelf(browser: Any, smollm2: Path, library: Library, tmp_path: Path) -> Iterator[Any]:
    """The page of a server that was given a folder of thirty files."""
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(30):
        (folder / f"paper {number}.txt").write_text(f"Paper {number} is about the ships of the bay.")
    with opened(browser, create_app(Settings(model=str(smollm2), retriever="bm25"), folders=[folder])) as page:
        yield page


def test_a_library_is_asked_and_what_carries_the_answer_is_shown(shelf: Any) -> None:
    expect(shelf.locator("#libraries")).to_contain_text("port")
    shelf.locator("#libraries input").check()
    expect(shelf.locator("#asking-of")).to_have_text("Asking the library port")
    ask(shelf, "Which colour is the ferry of Norra?")
    answered(shelf)
    expect(shelf.locator("#text")).to_contain_text("The ferry of Norra is painted red.")
    last(shelf).locator(".quotes .link").first.click()
    assert "red" in shelf.inner_text("mark")

    shelf.reload()  # the address holds the question
    expect(last(shelf).locator(".quotes .link").first).to_be_visible()
    expect(shelf.locator("#text")).to_contain_text("The ferry of Norra is painted red.")

    add(shelf, "Boat.txt", "The boat of Sandvik is painted green.")
    shelf.locator("#documents input").check()
    shelf.locator("#libraries input").check()
    expect(shelf.locator("#asking-of")).to_have_text("Asking the ticked document and the library port")
    ask(shelf, "Which colour is the ferry of Norra?")
    answered(shelf)
    expect(shelf.locator("#tabs")).to_contain_text("Ferry")
    shelf.locator("#tabs button", has_text="Boat").click()
    expect(shelf.locator("#text")).to_contain_text("painted green")


def test_a_file_of_a_folder_is_found_and_opened(shelf: Any) -> None:
    files = shelf.locator("#files button")
    expect(files).to_have_count(8)
    expect(shelf.locator("#files-left")).to_have_text("and 22 more: search for them")
    shelf.fill("#search", "paper 29")
    expect(files).to_have_count(1)
    files.click()
    expect(shelf.locator("#text")).to_have_text("Paper 29 is about the ships of the bay.")
    expect(shelf.locator("#documents")).to_contain_text("paper 29")


def test_a_library_is_brought_in_step(browser: Any, smollm2: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bay"
    folder.mkdir()
    (folder / "ferry.txt").write_text(FERRY)
    Library("bay", create=True).add_root(folder)
    with opened(browser, create_app(Settings(model=str(smollm2), retriever="bm25"))) as page:
        expect(page.locator("#libraries")).to_contain_text("0 documents")
        page.get_by_role("button", name="Bring bay in step with its files").click()
        expect(page.locator("#synced")).to_have_text("bay: 1 added")
        expect(page.locator("#libraries")).to_contain_text("1 document")
        page.get_by_role("button", name="Bring bay in step with its files").click()
        expect(page.locator("#synced")).to_have_text("bay: in step, 1 file unchanged")
