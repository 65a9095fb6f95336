"""Documents that a sync removed: the library keeps their texts for `DAYS`, so that they can be restored."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import dataclass

from wim_edge.documents import Document, Mark
from wim_edge.library.file_state import FileState

DAYS = 30
TABLES = """CREATE TABLE removed (
    id INTEGER PRIMARY KEY, at REAL, path TEXT, mtime_ns INTEGER, size INTEGER, digest BLOB, name TEXT, title TEXT,
    text TEXT, marks TEXT);
CREATE INDEX removed_path ON removed (path);
CREATE INDEX removed_at ON removed (at)"""
_PRESENT = "path NOT IN (SELECT path FROM source)"
"""A file that is in the library again needs no restoring."""


@dataclass(frozen=True)
class RemovedDocument:
    """A document that can be restored."""

    path: str
    name: str
    title: str
    chars: int
    removed: float
    """The time of its removal, in seconds since 1970."""


def keep(db: sqlite3.Connection, path: str) -> None:
    """Copies a file's documents to the removed ones, just before they are deleted."""
    db.execute(
        "INSERT INTO removed (at, path, mtime_ns, size, digest, name, title, text, marks) "
        "SELECT ?, path, mtime_ns, size, source.digest, name, title, text, marks "
        "FROM document JOIN source ON source.id = source WHERE path = ? ORDER BY document.id", (time.time(), path),
    )  # fmt: skip


def erase(db: sqlite3.Connection, path: str) -> None:
    """Deletes the removed documents of a file, and those whose time is over."""
    db.execute("DELETE FROM removed WHERE path = ? OR at < ?", (path, _oldest()))


def listed(db: sqlite3.Connection) -> list[RemovedDocument]:
    """Returns the documents that can be restored, the latest removed first."""
    found = db.execute(
        f"SELECT path, name, title, length(text), at FROM removed WHERE at >= ? AND {_PRESENT} ORDER BY at DESC, id",
        (_oldest(),),
    )
    return [RemovedDocument(*row) for row in found]


def texts(db: sqlite3.Connection, path: str) -> tuple[FileState, list[tuple[str, Document]]]:
    """Returns the removed documents of a file, each with its title, and the file's state."""
    rows = db.execute(
        "SELECT title, text, marks, mtime_ns, size, digest FROM removed WHERE path = ? ORDER BY id", (path,)
    ).fetchall()
    documents = [
        (title, Document(title, text, tuple(Mark(*mark) for mark in json.loads(marks))))
        for title, text, marks, *_ in rows
    ]
    mtime_ns, size, digest = rows[0][3:] if rows else (0, 0, b"")
    return FileState(mtime_ns, size, digest=digest), documents


def _oldest() -> float:
    return time.time() - DAYS * 24 * 3600
