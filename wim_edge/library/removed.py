"""Documents that a sync removed: the library keeps their texts for `DAYS`, so that they can be restored."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

DAYS = 30
TABLE = """CREATE TABLE removed (
    id INTEGER PRIMARY KEY, at REAL, path TEXT, mtime_ns INTEGER, size INTEGER, digest BLOB, name TEXT, title TEXT,
    text TEXT, marks TEXT)"""
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


def texts(db: sqlite3.Connection, path: str) -> list[tuple[int, int, bytes, str, str, str]]:
    """Returns (mtime_ns, size, digest, title, text, marks) of each removed document of a file."""
    return db.execute(
        "SELECT mtime_ns, size, digest, title, text, marks FROM removed WHERE path = ? ORDER BY id", (path,)
    ).fetchall()


def _oldest() -> float:
    return time.time() - DAYS * 24 * 3600
