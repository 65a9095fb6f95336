"""Pictures as documents, with the real engine."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.documents.conftest import Read, Refuse
from tests.documents.scanned import picture, png
from wim_edge.documents.readers import read_document
from wim_edge.settings import Limits

pytestmark = pytest.mark.real


def test_the_text_on_a_picture(read: Read) -> None:
    document = read("receipt.png", png("Harbour cafe, 4 May 2024", "", "", "Two teas 7.40", "", "", "Thank you"))
    assert "Two teas 7.40" in document.text
    assert document.place(0, 5).page is None
    assert (document.place(0, 5).confidence or 0) > 0.8
    assert "page 1 is a picture" in document.notes[0]


def test_a_file_of_several_pictures_has_pages(tmp_path: Path) -> None:
    file = tmp_path / "fax.tiff"
    picture("The first page").save(file, "TIFF", save_all=True, append_images=[picture("The second page")] * 120)
    document = read_document(file, limits=Limits(scan_pages=2))
    assert document.place(document.text.index("second"), len(document.text)).page == 2
    assert "pages 3 to 121 are left out" in document.notes[0]


def test_pictures_without_text_and_damaged_ones_are_errors(refuse: Refuse) -> None:
    blank = BytesIO()
    Image.new("L", (400, 300), "white").save(blank, "PNG")
    assert "no text was recognised" in str(refuse("white.png", blank.getvalue()))
    assert "no text was recognised" in str(refuse("half.png", png("The crane")[:300]))
    assert "no text was recognised" in str(refuse("odd.jpg", b"\xff\xd8\xff\xe0" + bytes(500)))


def test_a_picture_that_unpacks_to_much_is_refused(refuse: Refuse) -> None:
    bomb = BytesIO()
    Image.new("1", (30_000, 30_000)).save(bomb, "PNG")
    assert "no text was recognised" in str(refuse("bomb.png", bomb.getvalue()))
