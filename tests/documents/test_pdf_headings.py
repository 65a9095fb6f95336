"""The headings of a PDF without bookmarks, which name its sections."""

from __future__ import annotations

import pytest

from tests.documents.make import pdf
from wim_edge.documents.pdf_headings import headings
from wim_edge.documents.pdf_lines import Line, line_of
from wim_edge.documents.pdf_words import Word

pytest.importorskip("pypdfium2")
TEXT = "The works on the mains went on all year, and were paid from the reserve."


def line(text: str, height: float = 10, weight: int = 400, gap: float = 4) -> Line:
    words, at = [], 0.0
    for word in text.split():
        words.append(Word(word, at, at + 5 * len(word)))
        at += 5 * len(word) + gap
    return line_of(words, 0, height)._replace(weight=weight)


def test_larger_letters_above_text_name_a_section(read) -> None:
    body = b" T* ".join(b"(%s) Tj" % TEXT.encode() for _ in range(4))
    titles = (b" 0 -40 Td /F1 18 Tf (%s) Tj 0 -30 Td /F1 12 Tf " % title for title in (b"2 Supply", b"Money"))
    page = b"".join(title + body for title in titles)
    document = read("a.pdf", pdf(b"/F1 30 Tf (The cover) Tj 0 -30 Td", page))
    found = [(mark.section, document.text[mark.start :].split("\n")[0]) for mark in document.marks if mark.section]
    assert found == [("2 Supply", "2 Supply"), ("Money", "Money")]
    assert document.place(document.text.rindex("paid"), len(document.text)).section == "Money"
    marked = read("b.pdf", pdf(b"x", page, bookmarks=((b"Supply", 1),)))
    assert {mark.section for mark in marked.marks} == {None, "Supply"}


@pytest.mark.parametrize(
    ("given", "is_title"),
    [
        (line("2.1 Mains and leakage", weight=700), True),
        (line("Mains and leakage", 13), True),
        (line("供水", 13), True),
        (line("Mains and leakage"), False),
        (line("Take care of the mains.", weight=700), False),
        (line("Total: 4,000", weight=700), False),
        (line("Source 2022 2023", weight=700, gap=60), False),
        (line("Supply . . . . . . . 12", 13), False),
        (line("17", 20), False),
        (line("Mains and leakage", 7, weight=700), False),
    ],
)
def test_a_title_is_short_and_set_apart(given: Line, is_title: bool) -> None:
    assert headings([[given, line(TEXT), line(TEXT)]]) == {1: [given.text] if is_title else []}


def test_a_title_has_text_below_it_and_is_no_running_head() -> None:
    head, text = line("Annual report", 13), line(TEXT)
    assert headings([[head, line("Anna Berg", 13)], [text] * 9]) == {1: [], 2: []}
    assert headings([[text] * 9 + [head], [text]])[1] == ["Annual report"]
    assert not any(headings([[head, text]] * 3).values())
    assert headings([[line("A title that goes", 13), line("over two lines", 13), text]])[1] == [
        "A title that goes over two lines"
    ]
    assert headings([]) == {}
