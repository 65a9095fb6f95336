"""A page of a PDF with what readers have written on it."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfgen.canvas import Canvas

from wim_edge.documents.pdf_page import read_page

pdfium = pytest.importorskip("pypdfium2")


def test_what_a_reader_strikes_out_is_left_out() -> None:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842))
    canvas.drawString(72, 700, "The fee is 35 40 euros")
    left = 72 + canvas.stringWidth("The fee is ")
    right = left + canvas.stringWidth("35")
    corners = [left, 711, right, 711, left, 697, right, 697]
    canvas.highlightAnnotation("", [left, 697, right, 711], QuadPoints=corners)
    canvas.save()
    made = data.getvalue().replace(b"/Highlight", b"/StrikeOut")
    page = read_page(pdfium.PdfDocument(made), 0)
    assert [line.text for line in page.lines] == ["The fee is 40 euros"]
    assert (page.n_struck, page.n_lost) == (1, 0)
