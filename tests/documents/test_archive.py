"""Zip archives: what is in them, and what is no document."""

from __future__ import annotations

import re

import pytest

from tests.documents import make, test_docx, test_sheets
from tests.documents.make import archive, members_of
from wim_edge.documents.archive import Archive
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits


def test_other_archives(refuse) -> None:
    assert "zip archive" in str(refuse("a.zip", archive({"a.txt": "x"})))
    assert "zip archive" in str(refuse("empty.zip", archive({})))
    assert "Office" in str(refuse("a.vsdx", archive({"[Content_Types].xml": "x", "visio/document.xml": "x"})))
    assert "damaged" in str(refuse("a.docx", b"PK\x03\x04 and no more"))
    locked = bytearray(archive({"a.txt": "x"}))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in str(refuse("a.zip", bytes(locked)))


@pytest.mark.parametrize(("name", "data", "part"), [
    ("a.docx", test_docx.sample(), "document.xml"), ("a.xlsx", test_sheets.SAMPLE, "workbook.xml"),
    ("a.pptx", make.deck(), "presentation.xml"),
])  # fmt: skip
def test_a_strict_office_file_and_a_main_part_of_another_name(read, name: str, data: bytes, part: str) -> None:
    members, usual = members_of(data), rb"(?<=\")http://schemas.openxmlformats.org/(?!package)(\w+)/2006/"
    strict = {one: re.sub(usual, rb"http://purl.oclc.org/ooxml/\1/", text) for one, text in members.items()}
    moved = {one.replace(part, "2.xml"): text.replace(part.encode(), b"2.xml") for one, text in members.items()}
    assert read(name, data) == read(name, archive(strict)) == read(name, archive(moved))


def test_members_are_read_within_the_limits_of_all_of_them() -> None:
    data = archive({"a.xml": "x" * 60, "b.xml": "y" * 60, "c.png": "z" * 60})
    whole = Archive("a.zip", data, Limits())
    assert whole.names == {"a.xml", "b.xml", "c.png"}
    assert whole.read("b.xml") == b"y" * 60
    with pytest.raises(DocumentError, match="unpacks to 180 bytes, more than 100 bytes") as caught:
        Archive("a.zip", data, Limits(document_bytes=100))
    assert "WIM_EDGE_DOCUMENT_BYTES" in caught.value.hint
    small = Archive("a.zip", data, Limits(markup_bytes=100))
    office = archive({"word/document.xml": f"<x>{'x' * 53}</x>", "b.xml": "y" * 60})
    with pytest.raises(DocumentError, match="unpacks to 120 bytes"):  # before any is parsed
        assert Archive("a.docx", office, Limits(markup_bytes=100)).main
    assert Archive("a.docx", office, Limits(markup_bytes=120)).main[1].tag == "x"
    small.read("a.xml")
    with pytest.raises(DocumentError, match="unpacks to 120 bytes"):  # what was read before counts
        small.read("b.xml")


def test_a_member_that_is_not_there_or_damaged_is_a_damaged_document() -> None:
    data = bytearray(archive({"a.xml": "words and more words " * 9}))
    for member in ("b.xml", "a.xml"):
        with pytest.raises(DocumentError, match=r"a\.zip: the file looks damaged"):
            Archive("a.zip", bytes(data), Limits()).read(member)
        data[40] ^= 0xFF
