from __future__ import annotations

import io

import pytest

from tests.documents.make import archive, rezip

pptx = pytest.importorskip("pptx")


def deck() -> bytes:
    made = pptx.Presentation()
    made.core_properties.title = "The deck"
    slide = made.slides.add_slide(made.slide_layouts[1])
    box = slide.shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "at the top"
    slide.shapes.title.text = "Budget"
    slide.placeholders[1].text = "The crane costs 41.\n\nIt is paid."
    slide.notes_slide.notes_text_frame.text = "Thank them."
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 9_000_000, 100, 100).text_frame.text = "in a group"
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for at, text in enumerate(("Berth", "Depth", "North", "3.2 m")):
        table.cell(*divmod(at, 2)).text = text
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def test_slides_are_pages_and_read_from_the_top(read) -> None:
    document = read("a.pptx", deck())
    assert document.text == (
        "Budget\n\nat the top\n\nThe crane costs 41.\nIt is paid.\n\nin a group\n\nNotes: Thank them.\n\n"
        "| Berth | Depth\nNorth | 3.2 m"
    )
    assert [(mark.page, mark.section) for mark in document.marks] == [(1, "Budget"), (2, None)]
    assert document.title == "The deck"


def test_refused(refuse) -> None:
    data = deck()
    assert "damaged" in str(refuse("a.pptx", data[:3000]))
    assert "damaged" in str(refuse("a.pptx", archive({"ppt/presentation.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.pptx", rezip(data, {"ppt/slides/slide1.xml": "<p:sld"})))
    empty = io.BytesIO()
    pptx.Presentation().save(empty)
    assert "empty" in str(refuse("a.pptx", empty.getvalue()))
