"""Libraries of earlier versions are migrated when they are opened."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from tests.library.conftest import documents
from wim_edge.library.ingest import sync
from wim_edge.library.library import Library
from wim_edge.library.writing import document_digest, passage_sum

TEXT = "猫が庭にいる。 The harbour."
_BEFORE = """
CREATE TABLE version (id TEXT);
{roots}
CREATE TABLE source (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, mtime_ns INTEGER, size INTEGER, added REAL{digest});
CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER REFERENCES source ON DELETE CASCADE, name TEXT UNIQUE,
    title TEXT, number INTEGER, text TEXT, marks TEXT, digest BLOB);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER REFERENCES document ON DELETE CASCADE,
    start INTEGER, end INTEGER, sum INTEGER);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='porter unicode61');
CREATE INDEX document_copy ON document (title, number) WHERE number > 1;
CREATE INDEX document_source ON document (source);
CREATE INDEX passage_document ON passage (document);
"""


def make_before(home: Path, version: int) -> Path:
    """Makes a library as version 2 or 3 did, with one file, and returns the file."""
    path, folder = home / "papers" / "report-2024.md", home / "home" / "libraries" / "papers"
    for one in (path.parent, folder):
        one.mkdir(parents=True)
    path.write_text(TEXT)
    stat = path.stat()
    with sqlite3.connect(folder / "documents.sqlite") as db:
        has = version == 3
        db.executescript(_BEFORE.format(
            roots="CREATE TABLE root (path TEXT PRIMARY KEY);" if has else "",
            digest=", digest BLOB DEFAULT x''" if has else ""))  # fmt: skip
        db.execute("INSERT INTO version VALUES ('v')")
        if has:
            db.execute("INSERT INTO root VALUES (?)", (str(path.parent),))
        db.execute("INSERT INTO source (id, path, mtime_ns, size, added) VALUES (1, ?, ?, ?, 0)",
                   (str(path), stat.st_mtime_ns, stat.st_size))  # fmt: skip
        marks = json.dumps([])
        db.execute("INSERT INTO document VALUES (1, 1, 'Annual', 'Annual', 1, ?, ?, ?)",
                   (TEXT, marks, document_digest("Annual", TEXT, marks)))  # fmt: skip
        db.execute("INSERT INTO passage VALUES (1, 1, 0, ?, ?)", (len(TEXT), passage_sum(1, 0, len(TEXT), 1)))
        db.execute("INSERT INTO words (rowid, title, text) VALUES (1, 'Annual', ?)", (TEXT,))
        db.execute(f"PRAGMA user_version = {version}")
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_library_of_an_earlier_version(home: Path, version: int) -> None:
    path = make_before(home, version)
    library = Library("papers")
    assert library.version == "v", "indexes for models stay valid"
    for query in ("庭に何が", "harbour", "annual", "what was it in 2024?"):
        assert [hit.document for hit in library.search(query, 5)] == [1]
    assert library.roots() == [path if version == 2 else path.parent]
    assert not library.sources()[str(path)].state.digest
    assert library.removed_documents() == []
    stat = path.stat()
    path.write_text(TEXT.replace("harbour", "lagoon!"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert [one.state for one in sync(library)] == ["changed"]
    assert library.search("harbour", 5) == []
    assert "lagoon" in "".join(documents(library).values())
    assert [one.state for one in sync(library)] == ["unchanged"]
