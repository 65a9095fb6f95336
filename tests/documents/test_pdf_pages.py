"""Where words stand on the pages of a PDF, as they are shown: turned, cropped, with words broken over two lines."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import written
from tests.documents.make import pdf
from tests.documents.scanned import said, scan, scripted
from wim_edge.documents import read_document
from wim_edge.documents.pdf import read_pdf
from wim_edge.documents.pdf_pages import page_image, page_sizes, page_words
from wim_edge.errors import DocumentError, LibraryError
from wim_edge.settings import Limits

PAGE = b"The ferry sails at noon.\nIt is a small ship with\na crew of three."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "a.pdf", pdf(PAGE, b"", b"Another page."))


def test_every_word_has_its_place_in_the_order_of_the_lines(file: Path) -> None:
    text = read_pdf("a.pdf", file.read_bytes(), Limits()).text.split("Another")[0]
    words = page_words(file, 1, text)
    assert [text[one.start : one.end] for one in words] == text.split()
    for one in words:
        left, top, right, bottom = one.box
        assert 0 < left < right < 1
        assert 0 < top < bottom < 0.2  # the lines begin at 42 of 792 points
    lines = sorted({round(one.box[1], 3) for one in words})
    assert len(lines) == 3
    assert all(after - before == pytest.approx(14 / 792, abs=0.002) for before, after in pairwise(lines))
    assert words[0].box[0] == pytest.approx(50 / 612, abs=0.002)


def test_what_the_text_lacks_has_no_place_and_what_the_page_lacks_neither(file: Path) -> None:
    text = "ferry sails elsewhere at noon."
    assert [text[one.start : one.end] for one in page_words(file, 1, text)] == ["ferry", "sails", "at", "noon."]
    assert page_words(file, 2, "") == []


@pytest.mark.parametrize(("turn", "size"), [(90, (792, 612)), (180, (612, 792)), (270, (792, 612))])
def test_a_page_that_is_turned_is_told_as_it_is_shown(tmp_path: Path, turn: int, size: tuple[int, int]) -> None:
    path = written(tmp_path / "a.pdf", pdf(PAGE).replace(b"/MediaBox", b"/Rotate %d/MediaBox" % turn))
    assert page_sizes(path) == [size]
    left, top, right, bottom = page_words(path, 1, "The ferry")[0].box
    picture = _picture(path, 792)
    inked = [
        (x / picture.width, y / picture.height)
        for x in range(picture.width) for y in range(picture.height) if picture.getpixel((x, y)) < 128
    ]  # fmt: skip
    assert any(left <= x <= right and top <= y <= bottom for x, y in inked)  # there is ink where the word stands
    edge = 0.04
    assert all(x > edge and y > edge and x < 1 - edge and y < 1 - edge for x, y in inked)


def test_a_page_that_is_cropped_is_told_as_it_is_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", pdf(PAGE).replace(b"/MediaBox", b"/CropBox[50 592 250 792]/MediaBox"))
    assert page_sizes(path) == [(200, 200)]
    assert page_words(path, 1, "The ferry")[0].box[0] == pytest.approx(0, abs=0.01)


def test_a_word_that_is_broken_over_two_lines_has_two_places(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", pdf(b"The passengers of this ferry are transpor-\nted for nothing at all."))
    text = read_pdf("a.pdf", path.read_bytes(), Limits()).text
    words = [one for one in page_words(path, 1, text) if text[one.start : one.end].startswith("transpor")]
    assert [text[one.start : one.end] for one in words] == ["transported"] * 2
    assert words[1].box[1] > words[0].box[3] - 0.01


def test_a_picture_is_as_wide_as_was_asked(file: Path) -> None:
    assert _picture(file, 300).size in ((300, 388), (300, 389))
    assert _picture(file, 9999).height <= 2400
    assert page_image(file, 1, 300)[:2] == b"\xff\xd8"


@pytest.mark.parametrize("page", [0, 4, -1])
def test_there_is_no_such_page(file: Path, page: int) -> None:
    for work in (lambda: page_image(file, page, 100), lambda: page_words(file, page, "a")):
        with pytest.raises(LibraryError, match="no page"):
            work()


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", b"%PDF-1.4 no")
    with pytest.raises(DocumentError, match=r"a\.pdf"):
        page_sizes(path)
    with pytest.raises(DocumentError, match="gone"):
        page_sizes(tmp_path / "gone.pdf")


def _picture(path: Path, width: int):  # type: ignore[no-untyped-def]
    from PIL import Image

    return Image.open(io.BytesIO(page_image(path, 1, width))).convert("L")


def test_words_of_a_page_that_is_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, path = scripted(monkeypatch), written(tmp_path / "a.pdf", scan([["x"]]))
    ((across, down),) = page_sizes(path)
    runs.append([said(1, ("The crane", 0.1 * across, 0.2 * down, 0.3 * across, 0.25 * down, 0.9))])
    text = read_document(path).text
    (first, second) = page_words(path, 1, text)
    assert (text[first.start : first.end], text[second.start : second.end]) == ("The", "crane")
    assert first.box == pytest.approx((0.1, 0.2, 0.1 + 0.2 * 3 / 9, 0.25), abs=0.01)
    assert second.box[2] == pytest.approx(0.3, abs=0.01)
