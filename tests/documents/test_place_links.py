"""What opens a document at a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.documents.document import Place
from wim_edge.documents.place_links import link, opens, page_text

AT, ROW = (3, 9), (None, 7, None, "A7:C7")


@pytest.mark.parametrize(("path", "place", "opened", "fragment"), [
    ("a/report.pdf", Place(AT, 12, "Costs", None), "a/report.pdf#page=12", "#page=12"),
    ("notes.md", Place(AT, None, "Costs", 14), "notes.md:14", ""),
    ("p.xlsx", Place(AT, None, "Prices", *ROW), "p.xlsx#Prices!A7:C7", "#Prices!A7:C7"),
    ("p.xlsx", Place(AT, None, "Spring '25", *ROW), "p.xlsx#'Spring ''25'!A7:C7", "#%27Spring%20%27%2725%27!A7:C7"),
    ("p.ods", Place(AT, None, "Spring 25", *ROW), "p.ods#'Spring 25'.A7:C7", "#%27Spring%2025%27.A7:C7"),
    ("p.csv", Place(AT, None, None, None, 7), "p.csv:7", ""),
    ("b.docx", Place(AT, None, "Costs", None), "b.docx", ""),
    ("a #1.txt", Place(AT, None, None, 2), "a #1.txt:2", ""),
])  # fmt: skip
def test_places(path: str, place: Place, opened: str, fragment: str) -> None:
    assert opens(Path(path), place) == opened
    assert link(opened, path) == Path(path).absolute().as_uri() + fragment


@pytest.mark.parametrize(("page", "label", "text"), [
    (12, None, "page 12"), (9, "5", "page 5, 9th in the file"), (2, "ii", "page ii, 2nd in the file"),
    (13, "9", "page 9, 13th in the file"), (21, "A-3", "page A-3, 21st in the file"),
])  # fmt: skip
def test_a_page_has_the_number_that_it_prints(page: int, label: str | None, text: str) -> None:
    assert page_text(page, label) == text
