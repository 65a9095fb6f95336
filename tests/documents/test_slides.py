from __future__ import annotations

import io

import pytest

from tests.documents.make import archive, deck, rezip, saved

pptx = pytest.importorskip("pptx")


def test_slides_are_pages_and_read_from_the_top(read) -> None:
    document = read("a.pptx", deck())
    assert document.text == (
        "Budget\n\nat the top\n\n- The crane costs 41.\n- It is paid.\n\nin a group\n\nNotes: Thank them.\n\n"
        "| Berth | Depth\nNorth | 3.2 m"
    )
    assert [(mark.page, mark.section) for mark in document.marks] == [(1, "Budget"), (2, None)]
    assert document.title == "The deck"


def test_refused(refuse) -> None:
    data = deck()
    assert "damaged" in str(refuse("a.pptx", data[:3000]))
    assert "damaged" in str(refuse("a.pptx", archive({"ppt/presentation.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.pptx", rezip(data, {"ppt/slides/slide1.xml": "<p:sld"})))
    assert "empty" in str(refuse("a.pptx", saved(pptx.Presentation())))


def test_what_a_slide_strikes_out_or_raises_and_hidden_slides(read) -> None:
    made = pptx.Presentation(io.BytesIO(deck()))
    made.slides[1]._element.set("show", "0")
    paragraph = made.slides[0].shapes.title.text_frame.paragraphs[0]
    for text, name, value in (("1", "baseline", "30000"), (" old", "strike", "sngStrike"), (" new", "i", "0")):
        run = paragraph.add_run()
        run.text = text
        run._r.get_or_add_rPr().set(name, value)
    document = read("a.pptx", saved(made))
    assert document.text.startswith("Budget [1] new\n\nat the top")
    assert "Berth" not in document.text
    passage = "1 struck-out passage was left out (Budget [1] new)"
    assert document.notes == (passage, "1 hidden slide was left out (page 2)")
