from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.attack.documents import paragraph
from tests.conftest import written
from tests.documents.make import epub, pdf
from wim_edge.documents import Document, Mark, Place, read_document
from wim_edge.documents.document import DocumentBuilder, title_of, with_file_name
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits, Settings


def test_a_mark_changes_only_what_it_names() -> None:
    marks = (Mark(2, page=1), Mark(5, section="A"), Mark(8, page=2), Mark(11, page=3, section="B"))
    document = Document("d", "0123456789abcdef", marks)
    expected = {0: (None, None), 2: (1, None), 4: (1, None), 5: (1, "A"), 8: (2, "A"), 10: (2, "A"), 15: (3, "B")}
    for start, (page, section) in expected.items():
        assert document.place(start, start + 1) == Place((start, start + 1), page, section, 1)


def test_the_first_ink_counts() -> None:
    document = Document("d", "one\n\ntwo\n\n", (Mark(0, page=1), Mark(5, page=2)))
    assert document.place(3, 8).page == 2
    assert document.place(2, 8).page == 1
    assert document.place(8, 10) == Place((8, 10), 2, None, 3)
    assert document.place(3, 5).page == 1  # nothing but blanks: where it begins


def test_a_draft_leaves_blanks_out_and_its_marks_wait() -> None:
    draft = DocumentBuilder()
    draft.mark(page=1, section="long " * 100)
    draft.paragraph(" \n ")
    draft.mark(page=2)
    draft.paragraph("a\ud800")
    draft.paragraph("b")
    document = draft.document("d")
    assert document.text == "a\ufffd\n\nb"
    (mark,) = document.marks
    assert (mark.start, mark.page, len(mark.section or "")) == (0, 2, 200)


def test_notes_count_and_name_the_places() -> None:
    draft = DocumentBuilder()
    for place in "abcdefg":
        draft.omit("row", place)
    draft.omit("page")
    assert draft.document("d").notes == ("7 rows were left out (a; b; c; d; e; …)", "1 page was left out")


def test_titles() -> None:
    assert title_of(Document("a.txt", "x", path=Path("folder/a.txt"))) == "a"
    assert title_of(Document("a.md", "x", (Mark(0, section="One"), Mark(0, section="Two")), Path("a.md"))) == "One"
    assert title_of(Document("a.pptx", "x", (Mark(0, page=1, section="One"),), Path("a.pptx"))) == "One"
    bookmarks = (Mark(0, page=1), Mark(0, section="1 Introduction"))
    assert title_of(Document("a.pdf", "x", bookmarks, Path("a.pdf"))) == "a"
    titled = Document("a.pdf", "x", (Mark(0, section="One"),), Path("a.pdf"), title=" Costs\n2023 ")
    assert title_of(titled) == "Costs 2023"
    assert title_of(Document("a.epub", "x", (Mark(0, section="chapter 1"),), Path("a.epub"))) == "a"


def test_a_title_that_is_the_name_of_the_file_is_not_its_own() -> None:
    assert Document("a.txt", "x", path=Path("folder/a.txt"), title="a").own_title == ""
    assert Document("a.txt", "x", path=Path("folder/a.txt"), title="Costs").own_title == "Costs"
    assert Document("a", "x", title="a").own_title == "a"


@pytest.mark.parametrize(("title", "path", "heading"), [
    ("Annual report", "x/report-2024.md", "Annual report (report-2024)"), ("", "notes.txt", "notes"), ("A", "-", "A"),
    ("The report-2024", "Report-2024.pdf", "The report-2024"), ("Ferry", "wiki.jsonl.gz", "Ferry"), ("A", None, "A"),
])  # fmt: skip
def test_the_file_name_is_part_of_the_heading(title: str, path: str | None, heading: str) -> None:
    document = Document("d", "x", path=path and Path(path), title=title)  # type: ignore[arg-type]
    assert document.heading == with_file_name(title, path) == heading


def test_size_guard(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(Limits.document_bytes + 1)
    with pytest.raises(DocumentError, match="larger than 512 MiB"):
        read_document(path)
    with pytest.raises(DocumentError, match="larger than"):
        read_document("-", io.BytesIO(b"x" * 11), limits=Limits(document_bytes=10))


@pytest.mark.parametrize(("limit", "most", "name", "data", "what"), [
    ("document_bytes", 10, "a.txt", b"x" * 11, "larger than 10 bytes"),
    ("document_bytes", 100, "a.docx", paragraph(b"x"), "larger than 100 bytes"),
    ("document_bytes", 9000, "a.docx", paragraph(b"x" * 100_000), "unpacks to .* more than 9,000 bytes"),
    ("markup_bytes", 200, "a.docx", paragraph(b"x" * 200), "unpacks to .* more than 200 bytes"),
    ("markup_bytes", 200, "a.epub", epub({"one": "<p>one</p>"}), "unpacks to .* more than 200 bytes"),
    ("html_depth", 3, "a.html", b"<div><div><div><div>x", "nested more than 3 deep"),
    ("pdf_pages", 1, "a.pdf", pdf(b"one", b"two"), "2 pages, more than 1"),
])  # fmt: skip
def test_limits_are_settings(tmp_path: Path, limit: str, most: int, name: str, data: bytes, what: str) -> None:
    path = written(tmp_path / name, data)
    assert read_document(path).text
    settings = Settings.from_environment({f"WIM_EDGE_{limit.upper()}": str(most)})
    with pytest.raises(DocumentError, match=what) as caught:
        read_document(path, limits=settings)
    assert f"WIM_EDGE_{limit.upper()}" in caught.value.hint
