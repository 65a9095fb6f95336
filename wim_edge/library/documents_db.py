"""The SQLite tables of a library, and the functions that change them. A file is stored with its documents and with its
state (`FileState`). Documents that a sync removed can be restored for `DAYS` days."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import Path

from wim_edge.documents import Document, Mark, split
from wim_edge.documents.document import with_file_name
from wim_edge.words import TOKENIZER, searchable

VERSION, OLDEST = 4, 2
DAYS = 30
DIGEST_BYTES = 16
PASSAGE_CHARS = 1000
_SECTION_CHARS = 200  # a shorter section shares its passage with the next one
_LATEST = 2**63 - 1  # the most nanoseconds that SQLite can store: the year 2262

_ROOTS = "CREATE TABLE root (path TEXT PRIMARY KEY)"
_REMOVED = """CREATE TABLE removed (
    id INTEGER PRIMARY KEY, at REAL, path TEXT, mtime_ns INTEGER, size INTEGER, digest BLOB, name TEXT, title TEXT,
    text TEXT, marks TEXT);
CREATE INDEX removed_path ON removed (path);
CREATE INDEX removed_at ON removed (at)"""
_TABLES = f"""
CREATE TABLE version (id TEXT);
{_ROOTS};
CREATE TABLE source (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, mtime_ns INTEGER, size INTEGER, added REAL, digest BLOB DEFAULT x'',
    stamp INTEGER DEFAULT 0, restored INTEGER DEFAULT 0);
{_REMOVED};
CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER REFERENCES source ON DELETE CASCADE, name TEXT UNIQUE,
    title TEXT, number INTEGER, text TEXT, marks TEXT, digest BLOB);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER REFERENCES document ON DELETE CASCADE,
    start INTEGER, end INTEGER, sum INTEGER);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='{TOKENIZER}');
CREATE INDEX document_copy ON document (title, number) WHERE number > 1;
CREATE INDEX document_source ON document (source);
CREATE INDEX passage_document ON passage (document);
"""
_WORDS = """passage.id, heading(title, path), searchable(substr(text, start + 1, end - start))
FROM passage JOIN document ON document.id = document JOIN source ON source.id = source"""


@dataclass(frozen=True)
class FileState:
    """The modification time, size, stamp and SHA-256 of a file at one moment, by which a later change is found."""

    mtime_ns: int = 0
    size: int = 0
    stamp: int = 0
    """A checksum of modification time, change time (ctime), size and inode; 0 if unknown."""
    digest: bytes = b""
    """The SHA-256 of the file's bytes; empty if unknown."""


def state_of(stat: os.stat_result, digest: bytes = b"") -> FileState:
    """Returns a file's state from `os.stat`. The stamp covers ctime and inode, which rsync and touch cannot restore."""
    parts = (stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino)
    stamp = int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest())
    return FileState(min(stat.st_mtime_ns, _LATEST), stat.st_size, stamp, digest)


def file_digest(path: Path) -> bytes:
    """Returns the SHA-256 of a file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def has_changed(path: Path, known: FileState) -> bool:
    """Returns whether a file's SHA-256 (if unknown: size, time) differs from ``known``. Raises OSError, ValueError."""
    now = state_of(path.stat())
    if not known.digest:
        return (now.mtime_ns, now.size) != (known.mtime_ns, known.size)
    return now.size != known.size or file_digest(path) != known.digest


def make(db: sqlite3.Connection) -> None:
    """Creates the tables of a library if the database has none."""
    if db.execute("PRAGMA user_version").fetchone() == (0,):
        for statement in (*_TABLES.split(";"), f"PRAGMA user_version = {VERSION}"):
            db.execute(statement)
        change(db)


def version_of(db: sqlite3.Connection) -> int:
    """Returns the version of the tables; 0 if there are none. Raises sqlite3.DatabaseError for an unknown version."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    is_empty = not version and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not is_empty and not OLDEST <= version <= VERSION:
        raise sqlite3.DatabaseError(f"format {version}, of another version of wim-edge or damaged")
    return int(version)


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """Migrates the tables to `VERSION`. The connection must have the SQL functions that `Library._write` adds."""
    version = version_of(db)
    if version == VERSION:  # another process has migrated it
        return
    if version == 2:  # it has no digests of files and no list of the added folders
        db.execute("ALTER TABLE source ADD COLUMN digest BLOB DEFAULT x''")
        db.execute(_ROOTS)
        db.execute("INSERT INTO root SELECT path FROM source WHERE path LIKE '/%' OR path LIKE '_:%'")
    # Version 3 compares only modification time and size, and does not index file names
    for column in ("stamp", "restored"):
        db.execute(f"ALTER TABLE source ADD COLUMN {column} INTEGER DEFAULT 0")
    for statement in _REMOVED.split(";"):
        db.execute(statement)
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    db.execute(f"INSERT INTO words (rowid, title, text) SELECT {_WORDS}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def change(db: sqlite3.Connection) -> None:
    """Gives the library a new random version id, which no other library and no older copy of this library has."""
    db.execute("DELETE FROM version")
    db.execute("INSERT INTO version VALUES (?)", (uuid.uuid4().hex,))


def replace_documents(
    db: sqlite3.Connection, path: str, state: FileState, documents: Iterable[tuple[str, Document]], restored: bool
) -> int:
    """Replaces a file's documents with (title, document) pairs; returns their number. ``restored``: for a restore."""
    before = db.execute(
        "SELECT title, name, number FROM document JOIN source ON source.id = source WHERE path = ? "
        "ORDER BY document.id", (path,),
    ).fetchall()  # fmt: skip
    names_of: dict[str, list[tuple[str, int]]] = {}
    for title, name, number in before:
        names_of.setdefault(title, []).append((name, number))
    delete_documents(db, path)
    source = db.execute(
        "INSERT INTO source (path, mtime_ns, size, digest, stamp, restored, added) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (path, state.mtime_ns, state.size, state.digest, state.stamp, restored, time.time()),
    ).lastrowid
    n = 0
    for n, (given, original) in enumerate(documents, 1):  # noqa: B007
        # SQLite's functions stop at NUL, and a deletion must see the text that was inserted
        title, text = (one.replace("\0", "\ufffd") for one in (given, original.text))
        had = names_of.get(title)  # a document keeps its name when its file changes
        own = had.pop(0) if had else None
        name, number = own if own and not _is_taken(db, own[0]) else _unused_name(db, title)
        _insert(db, source, name, number, title, replace(original, text=text, path=Path(path)))
    change(db)
    return n


def _insert(db: sqlite3.Connection, source: int | None, name: str, number: int, title: str, document: Document) -> None:
    """Inserts a document, its passages and their words. ``source``: a file's row id; ``number``: see `_unused_name`."""
    marks = json.dumps([mark.values() for mark in document.marks])
    inserted = db.execute(
        "INSERT INTO document (source, name, title, number, text, marks, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (source, name, title, number, document.text, marks, document_digest(title, document.text, marks)),
    ).lastrowid
    heading = searchable(with_file_name(title, document.path))
    for start, end in passages(document):
        row = db.execute("INSERT INTO passage (document) VALUES (?)", (inserted,)).lastrowid
        checked = (start, end, passage_sum(inserted, start, end, row), row)
        db.execute("UPDATE passage SET start = ?, end = ?, sum = ? WHERE id = ?", checked)
        words = (row, heading, searchable(document.text[start:end]))
        db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", words)


def delete_documents(db: sqlite3.Connection, path: str, *, keep: bool = False) -> bool:
    """Removes a file and its documents from the tables; returns whether it was there. ``keep`` allows a restore."""
    db.execute("DELETE FROM removed WHERE path = ? OR at < ?", (path, oldest()))
    if keep:
        db.execute(
            "INSERT INTO removed (at, path, mtime_ns, size, digest, name, title, text, marks) "
            "SELECT ?, path, mtime_ns, size, source.digest, name, title, text, marks "
            "FROM document JOIN source ON source.id = source WHERE path = ? ORDER BY document.id", (time.time(), path),
        )  # fmt: skip
    # A contentless FTS5 table deletes a row only if it is given the row's words again
    db.execute(f"INSERT INTO words (words, rowid, title, text) SELECT 'delete', {_WORDS} WHERE path = ?", (path,))
    found = db.execute("DELETE FROM source WHERE path = ?", (path,)).rowcount > 0
    if found:
        change(db)
    return found


def _unused_name(db: sqlite3.Connection, title: str) -> tuple[str, int]:
    """Returns an unused name and a number for a document: (title, 1), or if taken ("title (2)", 2), and so on."""
    if not _is_taken(db, title):
        return title, 1
    copies = "SELECT coalesce(max(number), 1) FROM document WHERE title = ? AND number > 1"
    (number,) = db.execute(copies, (title,)).fetchone()
    number = next(one for one in count(number + 1) if not _is_taken(db, f"{title} ({one})"))
    return f"{title} ({number})", number


def _is_taken(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM document WHERE name = ?", (name,)).fetchone() is not None


def document_digest(*texts: object) -> bytes:
    """Returns a BLAKE2b digest (16 bytes) of a document. ``texts``: title, text and marks as JSON, in this order."""
    data = "\0".join(map(str, texts)).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def passage_sum(*numbers: object) -> int:
    """Returns the CRC-32 of a passage. ``numbers``: document id, start, end and passage id, in this order."""
    return zlib.crc32(repr(numbers).encode())


def passages(document: Document) -> Iterator[tuple[int, int]]:
    """Yields the [start, end) of a document's passages in characters, each at most `PASSAGE_CHARS` long. A passage also
    ends with its section, unless the section is shorter than `_SECTION_CHARS`."""
    starts = [0]
    for mark in document.marks:
        if mark.section and mark.start - starts[-1] >= _SECTION_CHARS:
            starts.append(mark.start)
    for start, end in pairwise([*starts, len(document.text)]):
        for segment in split(document.text[start:end], PASSAGE_CHARS, lambda text: range(len(text))):  # by characters
            yield start + segment.start, start + segment.end


def removed_texts(db: sqlite3.Connection, path: str) -> tuple[FileState, list[tuple[str, Document]]]:
    """Returns (state, [(title, document), ...]) of a removed file; no pairs if the file cannot be restored."""
    rows = db.execute(
        "SELECT title, text, marks, mtime_ns, size, digest FROM removed WHERE path = ? ORDER BY id", (path,)
    ).fetchall()
    documents = [(title, Document(title, text, marks_of(marks))) for title, text, marks, *_ in rows]
    mtime_ns, size, digest = rows[0][3:] if rows else (0, 0, b"")
    return FileState(mtime_ns, size, digest=digest), documents


def marks_of(stored: str) -> tuple[Mark, ...]:
    """Parses a document's marks (pages and sections) from their stored JSON."""
    return tuple(Mark(*mark) for mark in json.loads(stored))


def oldest() -> float:
    """Returns the time `DAYS` days ago, in seconds since 1970; documents removed before then cannot be restored."""
    return time.time() - DAYS * 24 * 3600
