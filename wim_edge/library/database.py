"""Access to SQLite, with one connection for each call, so that no file stays open between questions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_WAIT = 10.0  # seconds for another process's transaction


@contextmanager
def connected(path: Path, *, create: bool = True) -> Iterator[sqlite3.Connection]:
    """Yields a connection, and closes it after the block. ``create`` False: raises sqlite3.Error for a missing file."""
    # Even a reader needs the database's log (-wal): it exists, or can be created
    is_writable = os.access(path.parent, os.W_OK) or path.with_name(path.name + "-wal").exists()
    where = str(path) if create else path.absolute().as_uri() + ("?mode=rw" if is_writable else "?immutable=1")
    with closing(sqlite3.connect(where, timeout=_WAIT, isolation_level=None, uri=not create)) as db:
        yield db


@contextmanager
def transaction(path: Path, *, create: bool = True) -> Iterator[sqlite3.Connection]:
    """Yields a connection in a write transaction; others may read meanwhile. The transaction is undone if the block
    raises or the process is killed. Raises sqlite3.Error."""
    with connected(path, create=create) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        with db:  # commits, or rolls back
            db.execute("BEGIN IMMEDIATE")
            yield db


def is_corrupt(error: Exception) -> bool:
    """Returns whether an error means that the database is damaged, rather than locked or inaccessible."""
    if isinstance(error, sqlite3.OperationalError):
        return "Could not decode" in str(error)  # a text in it is no longer valid
    # Exactly this class: a broken constraint, for example, means that another process dropped the row
    return type(error) is sqlite3.DatabaseError or isinstance(error, UnicodeDecodeError)
