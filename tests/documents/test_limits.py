"""What is above a limit is refused, and the message names the limit."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.attack.documents import docx
from tests.documents.make import epub, pdf
from wim_edge.documents import read_document
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits, Settings


def test_size_guard(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(Limits.document_bytes + 1)
    with pytest.raises(DocumentError, match="larger than 512 MiB"):
        read_document(path)


@pytest.mark.parametrize(("limit", "most", "name", "data", "what"), [
    ("document_bytes", 10, "a.txt", b"x" * 11, "larger than 10 bytes"),
    ("document_bytes", 100, "a.docx", docx(b"x"), "larger than 100 bytes"),
    ("document_bytes", 9000, "a.docx", docx(b"x" * 100_000), "unpacks to .* more than 9,000 bytes"),
    ("markup_bytes", 200, "a.docx", docx(b"x"), "unpacks to .* more than 200 bytes"),
    ("markup_bytes", 200, "a.epub", epub({"one": "<p>one</p>"}), "unpacks to .* more than 200 bytes"),
    ("html_depth", 3, "a.html", b"<div><div><div><div>x", "nested more than 3 deep"),
    ("pdf_pages", 1, "a.pdf", pdf(b"one", b"two"), "2 pages, more than 1"),
])  # fmt: skip
def test_limits_are_settings(tmp_path: Path, limit: str, most: int, name: str, data: bytes, what: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_document(path).text
    settings = Settings.from_environment({f"WIM_EDGE_{limit.upper()}": str(most)})
    with pytest.raises(DocumentError, match=what) as caught:
        read_document(path, limits=settings)
    assert f"WIM_EDGE_{limit.upper()}" in caught.value.hint


def test_standard_input_is_limited() -> None:
    with pytest.raises(DocumentError, match="larger than"):
        read_document("-", io.BytesIO(b"x" * 11), limits=Limits(document_bytes=10))
