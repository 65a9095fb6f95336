from __future__ import annotations

import io

import pytest

from tests.documents.make import archive, deck, rezip

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
    empty = io.BytesIO()
    pptx.Presentation().save(empty)
    assert "empty" in str(refuse("a.pptx", empty.getvalue()))
