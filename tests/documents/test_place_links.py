"""What opens a document at a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.documents.document import Document, Mark, Place
from wim_edge.documents.place_links import link, opens, page_text, with_named_pages

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


BOOK = Document("a.pdf", "abcdefghij", tuple(
    Mark(at, page=at + 1, page_label=label)
    for at, label in enumerate(["i", "ii", "1", "2", "3", "A-1", None, None, "4.2"])
))  # fmt: skip


@pytest.mark.parametrize(("question", "read"), [
    ("What does page 2 say?", "d"), ("Was steht auf Seite 2?", "d"), ("What is on page 7?", "g"),
    ("On pages 1-3?", "cde"),
    ("Compare page ii with page 3.", "be"), ("See page A-1.", "f"), ("Is page 4.2 last?", "ij"),
    ("Which page 2500 of it?", ""), ("On which page I look?", ""), ("How many pages?", ""), ("Webpage 2", ""),
    ("", ""),
])  # fmt: skip
def test_a_question_names_pages_by_the_numbers_that_they_print(question: str, read: str) -> None:
    found = with_named_pages(BOOK, question)
    assert "".join(BOOK.text[start:end] for start, end in found.parts) == read
    assert bool(found.notes) == bool(read)
    assert with_named_pages(Document("a.txt", "a page"), question).parts == ()
