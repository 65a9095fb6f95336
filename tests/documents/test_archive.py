"""Zip archives: what is in them, and what is no document."""

from __future__ import annotations

import pytest

from tests.documents.make import archive
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


def test_members_are_read_within_the_limits_of_all_of_them() -> None:
    data = archive({"a.xml": "x" * 60, "b.xml": "y" * 60, "c.png": "z" * 60})
    whole = Archive("a.zip", data, Limits())
    assert whole.names == {"a.xml", "b.xml", "c.png"}
    assert whole.read("b.xml") == b"y" * 60
    with pytest.raises(DocumentError, match="unpacks to 180 bytes, more than 100 bytes") as caught:
        Archive("a.zip", data, Limits(document_bytes=100))
    assert "WIM_EDGE_DOCUMENT_BYTES" in caught.value.hint
    small = Archive("a.zip", data, Limits(markup_bytes=100))
    with pytest.raises(DocumentError, match="unpacks to 120 bytes"):
        small.bound_markup()
    Archive("a.zip", data, Limits(markup_bytes=120)).bound_markup()
    small.read("a.xml")
    with pytest.raises(DocumentError, match="unpacks to 120 bytes"):  # what was read before counts
        small.read("b.xml")


def test_a_member_that_is_not_there_or_damaged_is_a_damaged_document() -> None:
    data = bytearray(archive({"a.xml": "words and more words " * 9}))
    with pytest.raises(DocumentError, match=r"a\.zip: the file looks damaged"):
        Archive("a.zip", bytes(data), Limits()).read("b.xml")
    data[40] ^= 0xFF
    damaged = Archive("a.zip", bytes(data), Limits())
    with pytest.raises(DocumentError, match=r"a\.zip: the file looks damaged"):
        damaged.read("a.xml")
