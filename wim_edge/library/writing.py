"""Writing documents to the tables of a library, inside a transaction of its own (`Library.put`)."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from wim_edge.documents import Document, split
from wim_edge.documents.document import with_file_name
from wim_edge.library import removed
from wim_edge.library.file_state import FileState
from wim_edge.library.schema import change
from wim_edge.words import searchable

DIGEST_BYTES = 16
PASSAGE_CHARS = 1000
_SECTION_CHARS = 200  # a shorter section shares its passage with the next one


def replace_documents(
    db: sqlite3.Connection, path: str, state: FileState, documents: Iterable[tuple[str, Document]], *,
    restored: bool = False,
) -> int:  # fmt: skip
    """Replaces the documents of a file with these, each with its title; returns their number."""
    before = db.execute(
        "SELECT title, name, number FROM document JOIN source ON source.id = source WHERE path = ? "
        "ORDER BY document.id", (path,),
    ).fetchall()  # fmt: skip
    names_of: dict[str, list[tuple[str, int]]] = {}
    for title, name, copy in before:
        names_of.setdefault(title, []).append((name, copy))
    delete_documents(db, path)
    source = db.execute(
        "INSERT INTO source (path, mtime_ns, size, digest, stamp, restored, added) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (path, state.mtime_ns, state.size, state.digest, state.stamp, restored, time.time()),
    ).lastrowid
    n = 0
    for n, (given, original) in enumerate(documents, 1):  # noqa: B007
        # SQLite's functions end a text at NUL, and a deletion must see the text that was inserted
        title, text = (one.replace("\0", "\ufffd") for one in (given, original.text))
        had = names_of.get(title)  # a document keeps its name when its file changes
        own = had.pop(0) if had else None
        name, copy = own if own and not _is_taken(db, own[0]) else _unused_name(db, title)
        _insert(db, source, name, copy, title, replace(original, text=text, path=Path(path)))
    change(db)
    return n


def _insert(
    db: sqlite3.Connection, source: int | None, name: str, copy: int, title: str, document: Document
) -> None:
    """Adds a document with its passages and their words."""
    marks = json.dumps([mark.values() for mark in document.marks])
    number = db.execute(
        "INSERT INTO document (source, name, title, number, text, marks, digest) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (source, name, title, copy, document.text, marks, document_digest(title, document.text, marks)),
    ).lastrowid
    heading = searchable(with_file_name(title, document.path))
    for start, end in passages(document):
        row = db.execute("INSERT INTO passage (document) VALUES (?)", (number,)).lastrowid
        checked = (start, end, passage_sum(number, start, end, row), row)
        db.execute("UPDATE passage SET start = ?, end = ?, sum = ? WHERE id = ?", checked)
        words = (row, heading, searchable(document.text[start:end]))
        db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", words)


def delete_documents(db: sqlite3.Connection, path: str, *, keep: bool = False) -> bool:
    """Deletes the documents of a file; returns whether there were any. ``keep``: they can be restored."""
    removed.erase(db, path)
    if keep:
        removed.keep(db, path)
    # FTS5 without a copy of the text deletes a row when it is given its words again
    db.execute(
        "INSERT INTO words (words, rowid, title, text) SELECT 'delete', passage.id, heading(title, path), "
        "searchable(substr(text, start + 1, end - start)) FROM passage JOIN document ON document.id = document "
        "JOIN source ON source.id = source WHERE path = ?", (path,),
    )  # fmt: skip
    found = db.execute("DELETE FROM source WHERE path = ?", (path,)).rowcount > 0
    if found:
        change(db)
    return found


def _unused_name(db: sqlite3.Connection, title: str) -> tuple[str, int]:
    """Returns the title, or "title (2)" and so on if documents of that name exist, and the number."""
    if not _is_taken(db, title):
        return title, 1
    copies = "SELECT coalesce(max(number), 1) FROM document WHERE title = ? AND number > 1"
    (number,) = db.execute(copies, (title,)).fetchone()
    while True:
        number += 1
        if not _is_taken(db, f"{title} ({number})"):
            return f"{title} ({number})", number


def _is_taken(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM document WHERE name = ?", (name,)).fetchone() is not None


def document_digest(*texts: object) -> bytes:
    """Returns a digest of a document's title, text and marks."""
    data = "\0".join(map(str, texts)).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def passage_sum(*numbers: object) -> int:
    """Returns a checksum of a passage: its document, its offsets and its number."""
    return zlib.crc32(repr(numbers).encode())


def passages(document: Document) -> Iterator[tuple[int, int]]:
    """Yields [start, end) of the pieces that a library searches, at most `PASSAGE_CHARS` long. A piece ends where its
    section ends, unless it is hardly more than a heading so far."""
    starts = [0]
    for mark in document.marks:
        if mark.section and mark.start - starts[-1] >= _SECTION_CHARS:
            starts.append(mark.start)
    for start, end in pairwise([*starts, len(document.text)]):
        for segment in split(document.text[start:end], PASSAGE_CHARS, _as_codes):
            yield start + segment.start, start + segment.end


def _as_codes(text: str) -> Sequence[int]:
    """Returns one item for each character, in place of tokens."""
    return range(len(text))
