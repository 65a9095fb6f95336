"""The lines of a PDF's page, with the places of their words, in the order in which they are read."""

from __future__ import annotations

import pytest

from tests.documents.make import pdf, placed
from wim_edge.documents.pdf_lines import Line, fragments, page_lines
from wim_edge.documents.pdf_words import page_words

pdfium = pytest.importorskip("pypdfium2")


def lines_of(page: bytes, turn: int = 0) -> list[Line]:
    document = pdfium.PdfDocument(pdf(page))
    document[0].set_rotation(turn)
    return page_lines(page_words(document[0]))


def test_words_have_their_places_wide_gaps_part_cells_and_a_hyphen_that_broke_the_line_ends_it() -> None:
    first, second = lines_of(placed((0, 0, "Two words"), (0, 14, "Below")))
    assert (first.text, second.text) == ("Two words", "Below")
    assert first.left == pytest.approx(50, abs=1)
    assert first.left < first.words[0].right < first.words[1].left < first.right
    assert 0 < second.bottom < second.top < first.top
    assert first.is_beside(first)
    assert not first.is_beside(second)
    (row,) = lines_of(placed((0, 0, "Oak worktop"), (200, 0, "744.00")))
    assert [part.text for part in fragments(row)] == ["Oak worktop", "744.00"]
    first, second = lines_of(placed((0, 0, "An exam-"), (0, 14, "ple")))
    assert first.text[:-1] == "An exam"
    assert first.text[-1] in "\ufffe\x02"
    assert second.text == "ple"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_turned_is_read_in_the_direction_of_its_text(turn: int) -> None:
    assert lines_of(placed((0, 0, "Two words")), turn) == lines_of(placed((0, 0, "Two words")))


def test_columns_are_read_one_after_the_other_however_they_were_drawn() -> None:
    left = [(0, 14 * row, f"left column, line number {row}") for row in range(8)]
    right = [(260, 14 * row, f"right column, line number {row}") for row in range(8)]
    title, end = (0, -20, "A title that goes over both of the columns, and is long enough"), (0, 130, "The end")
    across = [cell for row in zip(left, right, strict=True) for cell in row]
    for drawn in (across, [*left, *right]):
        texts = [line.text for line in lines_of(placed(title, *drawn, end))]
        assert texts[0].startswith("A title")
        assert texts[1:9] == [text for *_, text in left]
        assert [text for text in texts[9:] if text.startswith("right")] == [text for *_, text in right]
