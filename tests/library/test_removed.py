"""Documents that a sync removed can be restored for some days."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.library.conftest import documents, write_rows
from wim_edge.documents import Document, Mark
from wim_edge.library.ingest import add, sync
from wim_edge.library.library import Library


def test_what_a_sync_removes_can_be_restored_and_stays(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    rows = write_rows(folder / "rows.jsonl", {"title": "Ferry", "text": "Red."}, {"title": "Ferry", "text": "Blue."})
    (folder / "a.txt").write_text("The crane lifts.")
    list(add(library, [folder]))
    before = documents(library)
    rows.unlink()
    list(sync(library))
    assert set(documents(library)) == {"a"}
    assert [(one.name, one.path) for one in library.removed_documents()] == [
        ("Ferry", str(rows)), ("Ferry (2)", str(rows)),
    ]  # fmt: skip
    assert library.restore(str(rows)) == 2
    assert documents(library) == before
    assert len(library.search("red ferry", 5)) == 2
    assert library.removed_documents() == []
    assert [one.state for one in sync(library)] == ["unchanged"], "it stays though its file is missing"
    assert documents(library) == before
    assert library.restore(str(rows)) == 0


def test_marks_come_back(library: Library) -> None:
    given = Document("d", "One.\n\nTwo.", (Mark(0, page=1), Mark(6, page=2, section="B")))
    library.put("/a.pdf", 1, 2, [("d", given)], b"x" * 32)
    library.remove("/a.pdf", keep=True)
    library.restore("/a.pdf")
    (kept,) = library.documents([number for number, _ in library.digests()])
    assert (kept.document.marks, kept.file.digest) == (given.marks, b"x" * 32)


@pytest.mark.parametrize("ends", ["time", "added again", "removed by hand"])
def test_it_ends(library: Library, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    library.put("a", 0, 0, [("A", Document("A", "One."))])
    library.remove("a", keep=True)
    assert [one.name for one in library.removed_documents()] == ["A"]
    if ends == "time":
        now = time.time()
        monkeypatch.setattr("time.time", lambda: now + 31 * 24 * 3600)
    elif ends == "added again":
        library.put("a", 0, 0, [("A", Document("A", "Two."))])
    else:
        library.remove("a")
    assert library.removed_documents() == []
    library.put("b", 0, 0, [("B", Document("B", "Three."))])
    assert library.restore("a") == 0
