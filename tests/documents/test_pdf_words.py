"""The words of a PDF's page as a reader sees them: raised, turned, struck out, from right to left."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.documents.make import pdf
from wim_edge.documents.pdf import drawings
from wim_edge.documents.pdf_words import WordRows, as_read, page_words

pdfium = pytest.importorskip("pypdfium2")


def read(draw: Callable[[Canvas], None]) -> WordRows:
    canvas = Canvas("", pagesize=(595, 842))
    canvas.setFont("Helvetica", 12)
    draw(canvas)
    page = pdfium.PdfDocument(canvas.getpdfdata())[0]
    return page_words(page, drawings(page)[0])


def texts(found: WordRows) -> list[str]:
    return [" ".join(word.text for word in words) for rows in found.rows for words, *_ in rows]


def with_marks(*parts: tuple[str, float]) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        line = canvas.beginText(72, 700)
        for text, rise in parts:
            line.setFont("Helvetica", 7 if rise else 12)
            line.setRise(rise)
            line.textOut(text)
        canvas.drawText(line)

    return draw


@pytest.mark.parametrize(("parts", "text"), [
    ([("The deposit is $450", 0), ("1", 5), (". It is back in 21", 0), ("2", 5), (" days", 0)],
     "The deposit is $450 [1]. It is back in 21 [2] days"),
    ([("A flat of 36 m", 0), ("2", 5), (", with CO", 0), ("2", -3), (" alarm", 0)], "A flat of 36 m², with CO2 alarm"),
    ([("On the 1", 0), ("st", 5), (" floor (21", 0), ("3", 5), (")", 0)], "On the 1st floor (21 [3])"),
    ([("1", 5), (" By bank transfer alone", 0)], "[1] By bank transfer alone"),
])  # fmt: skip
def test_raised_letters_are_no_part_of_a_number(parts: list[tuple[str, float]], text: str) -> None:
    assert texts(read(with_marks(*parts))) == [text]


def test_an_accent_is_read_in_the_letter_it_is_drawn_on() -> None:
    page = rb"[(Ren)-111(\264)444(e, M)-111(\250)444(uller, )-167(\264)500(Ecole, x\264 y, 5 ~ 6)]TJ"
    found = page_words(pdfium.PdfDocument(pdf(b"/F1 12 Tf 0 -50 Td " + page))[0])
    assert texts(found) == ["René, Müller, École, x´ y, 5 ~ 6"]


@pytest.mark.parametrize("turn", [90, 270])
@pytest.mark.parametrize("by_columns", [False, True])
def test_turned_text_is_read_in_its_own_direction(turn: int, by_columns: bool) -> None:
    cells = [("Fluid", 0, 0), ("Amount", 1, 0), ("Coolant", 0, 1), ("7.8 l", 1, 1), ("Oil", 0, 2), ("2.4 l", 1, 2)]

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 780, "Upright")
        canvas.translate(300, 400)
        canvas.rotate(turn)
        for text, across, down in sorted(cells, key=lambda cell: cell[1] if by_columns else 0):
            canvas.drawString(150 * across, -20 * down, text)

    words = [word for text in texts(read(draw)) for word in text.split()]
    assert words == ["Upright", "Fluid", "Amount", "Coolant", "7.8", "l", "Oil", "2.4", "l"]


def test_struck_words_are_left_out_and_counted() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "The rent is EUR 1,200 EUR 1,350 and no more")
        start = 72 + canvas.stringWidth("The rent is ")
        canvas.rect(start, 703, canvas.stringWidth("EUR 1,200"), 0.8, stroke=0, fill=1)
        canvas.drawString(72, 650, "underlined 3540 text")
        canvas.line(72, 648.5, 72 + canvas.stringWidth("underlined"), 648.5)
        start = 72 + canvas.stringWidth("underlined ")
        canvas.line(start, 654, start + canvas.stringWidth("35"), 654)
        canvas.drawString(72, 600, "59.1 outlines")  # on a line of a chart, and drawn as outlines
        canvas.line(50, 604, 400, 604)
        canvas.line(72 + canvas.stringWidth("59.1 o"), 604, 74 + canvas.stringWidth("59.1 out"), 604)

    found = read(draw)
    assert texts(found) == ["The rent is EUR 1,350 and no more", "underlined 40 text", "59.1 outlines"]
    assert found.n_struck == 3


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_place_is_as_large_however_it_is_read(turn: int) -> None:
    left, bottom, right, top = as_read((10, 20, 40, 60), turn)
    assert sorted((right - left, top - bottom)) == [30, 40]
