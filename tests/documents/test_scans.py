"""Pages that are pictures: what the process says becomes lines, is kept, and never holds the reading up for good."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from tests.conftest import written
from tests.documents.conftest import Read, Refuse
from tests.documents.make import pdf, place_of, saved
from tests.documents.scanned import Runs, picture, png, said, scan, scripted
from wim_edge.documents import read_document, scans
from wim_edge.documents.readers import find_scans
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

TABLE = [
    ("Item", 70, 100, 140, 130, 0.9), ("Price", 400, 101, 480, 131, 0.9),
    ("Crane", 70, 150, 150, 180, 0.9), ("40 €", 400, 149, 470, 179, 0.9),
    ("Winch", 70, 200, 150, 230, 0.9), ("7 €", 400, 200, 450, 230, 0.9),
]  # fmt: skip


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return scripted(monkeypatch)


def test_boxes_are_lines_and_rows(read: Read, worker: Runs) -> None:
    worker.append([said(1, *TABLE)])
    document = read("a.pdf", scan([["x"]]))
    assert document.text == "| Item | Price\nCrane | 40 €\nWinch | 7 €"
    assert document.place(0, 4).page == 1
    assert document.place(0, 4).confidence == 0.9
    assert document.notes == ("page 1 is a picture: the text was recognised, with confidence 0.90",)


def test_columns_follow_each_other_and_broken_words_are_whole(read: Read, worker: Runs) -> None:
    left = [f"Words of the left column {at} are" for at in range(7)] + ["words of the last line are in-"]
    right = ["deed those of the right column"] + [f"while line {at} of it goes on so" for at in range(7)]
    worker.append([said(1, *[
        (text, x, 100 + 30 * at, x + 320, 122 + 30 * at, 1.0)
        for at, pair in enumerate(zip(left, right, strict=True)) for x, text in zip((60, 420), pair, strict=True)
    ])])  # fmt: skip
    text = read("a.pdf", scan([["y"]])).text
    assert "words of the last line are indeed those of the right column while line 0" in text


def test_spaces_that_the_engine_lost(read: Read, worker: Runs) -> None:
    worker.append([said(1, ("It rises to985 pounds in 28days.The A4 sheet.", 70, 100, 500, 130, 0.9))])
    assert read("a.pdf", scan([["v"]])).text == "It rises to 985 pounds in 28 days. The A4 sheet."


def test_text_and_pictures_in_one_file(read: Read, worker: Runs) -> None:
    from pypdfium2 import PdfDocument

    file, other = PdfDocument(pdf(b"BT /F1 12 Tf 72 700 Td (The plan) Tj ET")), PdfDocument(scan([["z"]]))
    file.import_pages(other)
    worker.append([said(2, ("It comes on Thursday.", 70, 100, 300, 130, 0.8))])
    document = read("both.pdf", saved(file))
    assert document.text == "The plan\n\nIt comes on Thursday."
    assert [(mark.page, mark.confidence) for mark in document.marks] == [(1, None), (2, 0.8)]


def stamped(text: str, width: float = 590) -> bytes:
    """Return a page with a picture of this width, and a text of its own, as a scanner's program stamps it."""
    page = Canvas("", (600, 800))
    page.drawInlineImage(picture("z"), 5, 5, width, 780)
    page.drawString(20, 10, text)
    return page.getpdfdata()


def test_a_stamp_does_not_hide_that_a_page_is_a_picture(read: Read, worker: Runs) -> None:
    worker.append([said(1, ("The rent is due on the first.", 70, 100, 300, 130, 0.8), ("Scan", 20, 780, 60, 795, 0.9))])
    assert "The rent is due" in read("a.pdf", stamped("Scanned with a phone")).text
    assert read("b.pdf", stamped("A lamp", width=100)).text == "A lamp"
    assert read("c.pdf", stamped("The rent is due on the first. " * 9)).text.startswith("The rent is due")


def test_without_an_engine_a_stamped_page_says_what_is_not_read(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "engine", lambda: "")
    document = read("a.pdf", stamped("Scanned with a phone"))
    assert document.text == "Scanned with a phone"
    assert document.notes == ("page 1 has a picture over most of it, in which text is not recognised",)


def test_a_photograph_keeps_the_text_of_its_page(read: Read, worker: Runs) -> None:
    worker.append([said(1, ("STOP", 70, 100, 90, 130, 0.8))])
    assert read("a.pdf", stamped("The ferry at noon, from the pier")).text == "The ferry at noon, from the pier"


def test_a_page_on_which_the_process_ends_is_left_out(read: Read, worker: Runs) -> None:
    worker += [[said(1, ("One", 70, 100, 130, 130, 0.9))], [said(3, ("Three", 70, 100, 150, 130, 0.9))], [], []]
    data = scan([["1"], ["2"], ["3"]])
    assert [page.number for page in scans.recognise(data, (1, 2, 3))] == [1, 3, 2], "progress counts it too"
    document = read("a.pdf", data)
    assert document.text == "One\n\nThree"
    assert "page 2 has no text layer" in document.notes
    assert not worker[1:], "it was tried again, and then no more"


def test_a_page_that_takes_too_long_is_left_out(read: Read, worker: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "_SECONDS", 0.5)
    worker += [[said(1, ("One", 70, 100, 130, 130, 0.9)), "hang"], ["hang"], ["hang"]]
    assert read("a.pdf", scan([["1"], ["slow"]])).text == "One"


def test_what_was_recognised_is_kept_for_its_owner_alone(tmp_path: Path, worker: Runs) -> None:
    path = written(tmp_path / "kept.pdf", scan([["a"], ["b"]]))
    worker.append([said(1, ("One", 70, 100, 130, 130, 0.9)), said(2, ("Two", 70, 100, 130, 130, 0.9))])
    (found,) = find_scans([path])
    assert found.pages == (1, 2)
    assert [page.number for page in found.recognise(keep=True)] == [1, 2]
    scans._known.cache_clear()  # as in another process
    assert not find_scans([path])
    assert read_document(path).text == "One\n\nTwo"
    (file,) = scans.folder().glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    file.write_text('{"pages": [{"page": 1, "boxes": [["One", 70, 1e999, 130, 130, 7]]}]}')
    scans._known.cache_clear()
    assert find_scans([path]), "what is damaged is recognised again"
    worker.append([said(1, ("One", 70, 100, 130, 130, 0.9)), said(2, ("Two", 70, 100, 130, 130, 0.9))])
    assert len(list(found.recognise(keep=True))) == 2
    scans._known.cache_clear()
    assert not find_scans([path]), "and is whole again"


@pytest.mark.parametrize("kept", [
    "[" * 200_000, "0" * 17_000_000, '{"pages": [{"page": -5, "boxes": []}]}', "",
    '{"pages": [{"page": 1, "boxes": [["a"]]}]}', '{"pages": [{"page": 1e400, "boxes": []}]}',
])  # fmt: skip
def test_whatever_lies_in_the_cache_is_no_text(tmp_path: Path, worker: Runs, kept: str) -> None:
    path = written(tmp_path / "a.pdf", scan([["a"]]))
    file = scans._file(path.read_bytes())
    written(file, kept)
    worker.append([said(1, ("One", 70, 100, 130, 130, 0.9))])
    (found,) = find_scans([path])
    assert len(list(found.recognise(keep=True))) == 1
    assert read_document(path).text == "One"


def test_a_picture_that_was_left_in_the_middle_is_gone_on_with(tmp_path: Path, worker: Runs) -> None:
    path = written(tmp_path / "fax.png", png("x"))
    pages = [said(page, (f"Page {page}", 70, 100, 130, 130, 0.9)) for page in (1, 2, 3)]
    worker += [['{"count": 3}', *pages], ['{"count": 3}', *pages[1:]]]
    (found,) = find_scans([path])
    with closing(found.recognise(keep=True)) as some:
        next(some)
    scans._known.cache_clear()
    (again,) = find_scans([path])
    assert [page.number for page in again.recognise(keep=True)] == [2, 3]
    scans._known.cache_clear()
    assert not find_scans([path])
    assert read_document(path).text == "Page 1\n\nPage 2\n\nPage 3"


def test_what_is_not_read_of_a_picture_of_many_pages_is_told(tmp_path: Path, worker: Runs) -> None:
    count = '{"count": 7}'
    worker += [[count, said(1, ("One", 70, 100, 130, 130, 0.9)), said(2)], [count], [count], [count]]
    (tmp_path / "fax.tiff").write_bytes(png("x"))
    document = read_document(tmp_path / "fax.tiff", limits=Limits(scan_pages=5))
    assert document.text == "One"
    assert document.place(0, 3).page == 1, "though it alone was read"
    assert document.notes[:2] == (
        "pages 2, 3, 4, 5 have no text that was recognised", "pages 6 to 7 are left out: text is recognised on no more",
    )  # fmt: skip
    assert not worker, "on each of the last three it ended"


def test_it_ends_in_the_middle_of_a_page_when_that_is_wished(tmp_path: Path, worker: Runs) -> None:
    path = written(tmp_path / "a.pdf", scan([["1"], ["slow"]]))
    worker.append([said(1, ("One", 70, 100, 130, 130, 0.9)), "hang"])
    (found,), seen = find_scans([path]), list[int]()
    for page in found.recognise(is_stopped=lambda: bool(seen)):
        seen.append(page.number)
    assert seen == [1]


def test_none_are_recognised_above_the_limit(tmp_path: Path, worker: Runs) -> None:
    path = written(tmp_path / "long.pdf", scan([["a"], ["b"]]))
    (found,) = find_scans([path], Limits(scan_pages=1))
    assert found.pages == (1,)
    assert not find_scans([path], Limits(scan_pages=0))
    worker.append([said(1, ("One", 70, 100, 130, 130, 0.9))])
    document = read_document(path, limits=Limits(scan_pages=1))
    assert document.text == "One"
    assert "page 2 has no text layer" in document.notes


def test_an_engine_that_cannot_be_loaded_is_told(read: Read, worker: Runs) -> None:
    worker.append(['{"failed": "ImportError: libGL.so.1"}'])
    with pytest.raises(DocumentError, match="rapidocr here: ImportError"):
        read("a.pdf", scan([["x"]]))


def test_without_an_engine_the_error_names_the_command(refuse: Refuse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "engine", lambda: "")
    error = refuse("a.pdf", scan([["x"]]))
    assert "scanned" in str(error)
    assert "pip install rapidocr onnxruntime" in error.hint
    assert scans.INSTALL in refuse("a.png", png("x")).hint


def test_other_files_start_no_process(tmp_path: Path, worker: Runs) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf(b"BT /F1 12 Tf 72 700 Td (The plan) Tj ET", b""))
    (tmp_path / "b.txt").write_text("The plan")
    assert not find_scans([tmp_path / "a.pdf", tmp_path / "b.txt", tmp_path / "none.pdf", "-"])
    assert read_document(tmp_path / "a.pdf").text == "The plan"


def test_what_a_pipe_holds_is_left_to_the_reading(worker: Runs) -> None:
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(b"The ferry sails at noon.")
    try:
        pipe = f"/dev/fd/{reader}"
        assert not find_scans([pipe])
        assert read_document(pipe).text == "The ferry sails at noon."
    finally:
        os.close(reader)


@pytest.mark.real
def test_the_text_on_a_picture(read: Read) -> None:
    document = read("receipt.png", png("Harbour cafe, 4 May 2024", "", "", "Two teas 7.40", "", "", "Thank you"))
    assert "Two teas 7.40" in document.text
    assert document.place(0, 5).page is None
    assert (document.place(0, 5).confidence or 0) > 0.8
    assert "page 1 is a picture" in document.notes[0]


@pytest.mark.real
def test_a_file_of_several_pictures_has_pages(tmp_path: Path) -> None:
    file = tmp_path / "fax.tiff"
    picture("The first page").save(file, "TIFF", save_all=True, append_images=[picture("The second page")] * 120)
    document = read_document(file, limits=Limits(scan_pages=2))
    assert place_of(document, "second").page == 2
    assert "pages 3 to 121 are left out" in document.notes[0]


@pytest.mark.real
def test_pictures_without_text_and_damaged_ones_are_errors(refuse: Refuse) -> None:
    blank = saved(Image.new("L", (400, 300), "white"), "PNG")
    assert "no text was recognised" in str(refuse("white.png", blank))
    assert "no text was recognised" in str(refuse("half.png", png("The crane")[:300]))
    assert "no text was recognised" in str(refuse("odd.jpg", b"\xff\xd8\xff\xe0" + bytes(500)))


@pytest.mark.real
def test_a_picture_that_unpacks_to_much_is_refused(refuse: Refuse) -> None:
    bomb = saved(Image.new("1", (30_000, 30_000)), "PNG")
    assert "no text was recognised" in str(refuse("bomb.png", bomb))
