"""The tables of a library: names, words deleted as inserted, earlier versions, removed documents, states of files."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.library.conftest import documents, write_rows
from wim_edge.documents import Document, Mark
from wim_edge.library import documents_db
from wim_edge.library.documents_db import document_digest, file_digest, has_changed, passage_sum, passages, state_of
from wim_edge.library.ingest import add, sync
from wim_edge.library.library import Library


def test_a_name_that_another_document_has_taken_meanwhile(library: Library) -> None:
    library.put("a", [("A", Document("A", "One."))])
    library.put("b", [("A (2)", Document("A (2)", "Two."))])
    library.put("b", [("A", Document("A", "Three.")), ("A (2)", Document("A (2)", "Two."))])
    assert sorted(documents(library).values()) == ["One.", "Three.", "Two."]


def test_nul_and_equal_words_survive_changes(home: Path, library: Library) -> None:
    path = write_rows(home / "p.jsonl", {"title": "a\0b", "text": "alpha\0 gamma delta"})
    (home / "m.txt").write_text("gamma rays")
    list(add(library, [path, home / "m.txt"]))
    assert len(library.search("gamma", 9)) == 2
    library.remove(str(path))
    assert len(library.search("gamma", 9)) == 1
    assert list(library.sources()) == [str(home / "m.txt")]


def test_names_stay_when_files_change(home: Path, library: Library) -> None:
    for n in (1, 2, 3):
        write_rows(home / f"{n}.jsonl", {"title": "Same", "text": f"Text {n}."})
    paths = [home / f"{n}.jsonl" for n in (1, 2, 3)]
    list(add(library, paths))
    write_rows(paths[1], {"title": "Same", "text": "Another text."})
    list(add(library, paths))
    assert documents(library) == {"Same": "Text 1.", "Same (2)": "Another text.", "Same (3)": "Text 3."}


def test_many_equal_titles_are_added_again_in_no_time(home: Path, library: Library) -> None:
    for name in "ab":
        write_rows(home / f"{name}.jsonl", *({"title": "T", "text": f"{name} {n}"} for n in range(1500)))
    paths = [home / "a.jsonl", home / "b.jsonl"]
    list(add(library, paths))
    os.utime(paths[0], (1, 1))
    list(add(library, paths))
    assert len(documents(library)) == 3000


def test_a_heading_stays_with_what_follows_it(library: Library) -> None:
    parts = [f"Room {n}\n\nThe keeper of it is called N{n}. " + "It is dusted at noon. " * 34 for n in range(9)]
    starts = [sum(map(len, parts[:n])) for n in range(9)]
    marks = tuple(Mark(start, section=f"Room {n}") for n, start in enumerate(starts))
    text = "".join(parts)
    library.put("rooms", [("Rooms", Document("Rooms", text, marks))])
    for n in (3, 7):
        best = library.search(f"keeper of room {n}", 1)[0]
        assert text[best.start : best.end].startswith(f"Room {n}\n")
    spans = sorted((hit.start, hit.end) for hit in library.search("keeper dusted", 99))
    assert "".join(text[start:end] for start, end in spans) == text


def test_passages_are_the_whole_text(library: Library) -> None:
    text = "Short. " + "A sentence about the harbour and its pilots. " * 200 + "unbroken" * 400
    library.put("long", [("Long", Document("Long", text))])
    hits = sorted(library.search("harbour unbroken short", 1000), key=lambda hit: hit.start)
    assert all(hit.end - hit.start <= 1000 for hit in hits)
    assert "".join(text[hit.start : hit.end] for hit in hits[:2]) == text[: hits[1].end]


def test_a_section_that_is_hardly_more_than_a_heading_shares_its_passage() -> None:
    text = "Part I\n\n" + "Chapter 1\n\n" + "The harbour is deep. " * 12 + "Chapter 2\n\n" + "The pilots are few. " * 12
    starts = [0, text.index("Chapter 1"), text.index("Chapter 2")]
    document = Document("d", text, tuple(Mark(at, section=str(at)) for at in starts))
    assert [text[start : start + 9] for start, _ in passages(document)] == ["Part I\n\nC", "Chapter 2"]


def test_pages_part_no_passages() -> None:
    text = "A sentence of the harbour. " * 20
    document = Document("d", text, (Mark(0, page=1), Mark(270, page=2)))
    assert list(passages(document)) == [(0, len(text))]
    assert list(passages(Document("d", ""))) == []


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
    library.put("/a.pdf", [("d", given)], documents_db.FileState(1, 2, digest=b"x" * 32))
    library.remove("/a.pdf", keep=True)
    library.restore("/a.pdf")
    (kept,) = library.documents([number for number, _ in library.digests()])
    assert (kept.document.marks, kept.file.digest) == (given.marks, b"x" * 32)


@pytest.mark.parametrize("ends", ["time", "added again", "removed by hand"])
def test_it_ends(library: Library, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    library.put("a", [("A", Document("A", "One."))])
    library.remove("a", keep=True)
    assert [one.name for one in library.removed_documents()] == ["A"]
    if ends == "time":
        now = time.time()
        monkeypatch.setattr("time.time", lambda: now + 31 * 24 * 3600)
    elif ends == "added again":
        library.put("a", [("A", Document("A", "Two."))])
    else:
        library.remove("a")
    assert library.removed_documents() == []
    library.put("b", [("B", Document("B", "Three."))])
    assert library.restore("a") == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rates.md"
    made.write_text("The fee is 55 euros.")
    os.utime(made, ns=(1, 1))
    return made


@pytest.mark.parametrize("instead", [True, False])
def test_the_same_size_and_time_of_other_bytes(path: Path, instead: bool) -> None:
    before = state_of(path.stat(), file_digest(path))
    if instead:
        path.rename(path.with_name("old"))
    path.write_text("The fee is 70 euros.")
    os.utime(path, ns=(1, 1))
    now = state_of(path.stat())
    assert (now.mtime_ns, now.size) == (before.mtime_ns, before.size)
    assert now.stamp != before.stamp
    assert has_changed(path, before)
    assert not has_changed(path, replace(before, digest=b"")), "an earlier version knows the time and the size alone"


def test_the_same_bytes_of_another_time_are_no_change(path: Path) -> None:
    before = state_of(path.stat(), file_digest(path))
    os.utime(path, ns=(2, 2))
    assert not has_changed(path, before)
    assert has_changed(path, replace(before, digest=b""))


def test_a_time_that_the_database_cannot_store(path: Path) -> None:
    os.utime(path, ns=(0, 2**63 + 10**9))
    assert state_of(path.stat()).mtime_ns == 2**63 - 1
