"""What brings a library of an earlier version up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from wim_edge.documents import Document
from wim_edge.library.library import Library


def test_a_library_of_the_earlier_version_finds_all_scripts_and_knows_its_files(home: Path, library: Library) -> None:
    library.put("/papers/a.txt", 1, 2, [("a", Document("a", "猫が庭にいる。 The harbour."))])
    with sqlite3.connect(library.folder / "documents.sqlite") as db:
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        db.execute("INSERT INTO words (rowid, title, text) VALUES (1, 'a', '猫が庭にいる。 The harbour.')")
        db.execute("DROP TABLE root")
        db.execute("ALTER TABLE source DROP COLUMN digest")
        db.execute("PRAGMA user_version = 2")
    again = Library("papers")
    for query in ("庭に何が", "harbour"):
        assert [hit.document for hit in again.search(query, 5)] == [1]
    assert again.roots() == [Path("/papers/a.txt")]
    assert again.sources()["/papers/a.txt"].digest == b""
    assert again.remove("/papers/a.txt")
    assert again.search("harbour", 5) == []
