"""The tables of a library, and what brings those of an earlier version up to date."""

from __future__ import annotations

import sqlite3
import uuid

from wim_edge.library import removed
from wim_edge.words import TOKENIZER

VERSION, OLDEST = 4, 2
_ROOTS = "CREATE TABLE root (path TEXT PRIMARY KEY)"
_TABLES = f"""
CREATE TABLE version (id TEXT);
{_ROOTS};
CREATE TABLE source (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, mtime_ns INTEGER, size INTEGER, added REAL, digest BLOB DEFAULT x'',
    stamp INTEGER DEFAULT 0, restored INTEGER DEFAULT 0);
{removed.TABLES};
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


def make(db: sqlite3.Connection) -> None:
    """Makes the tables where there are none."""
    if db.execute("PRAGMA user_version").fetchone() == (0,):
        for statement in (*_TABLES.split(";"), f"PRAGMA user_version = {VERSION}"):
            db.execute(statement)
        change(db)


def version_of(db: sqlite3.Connection) -> int:
    """Returns the version of the tables, 0 where there are none. Raises sqlite3.DatabaseError for one that cannot be
    read."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    is_empty = not version and not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if not is_empty and not OLDEST <= version <= VERSION:
        raise sqlite3.DatabaseError(f"format {version}, of another version of wim-edge or damaged")
    return int(version)


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """Migrates a library of an earlier version. ``searchable`` and ``heading`` are functions of the connection."""
    version = version_of(db)
    if version == VERSION:  # another process was first
        return
    if version == 2:  # it has no digests of files, and does not know which folders were added
        db.execute("ALTER TABLE source ADD COLUMN digest BLOB DEFAULT x''")
        db.execute(_ROOTS)
        db.execute("INSERT INTO root SELECT path FROM source WHERE path LIKE '/%' OR path LIKE '_:%'")
    # Version 3 compares modification time and size alone, and indexes no file names
    for column in ("stamp", "restored"):
        db.execute(f"ALTER TABLE source ADD COLUMN {column} INTEGER DEFAULT 0")
    for statement in removed.TABLES.split(";"):
        db.execute(statement)
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    db.execute(
        "INSERT INTO words (rowid, title, text) SELECT passage.id, heading(title, path), "
        "searchable(substr(text, start + 1, end - start)) FROM passage JOIN document ON document.id = document "
        "JOIN source ON source.id = source"
    )
    db.execute(f"PRAGMA user_version = {VERSION}")


def change(db: sqlite3.Connection) -> None:
    """Sets a random new version, so that no other library, and none restored from a copy, ever has the same."""
    db.execute("DELETE FROM version")
    db.execute("INSERT INTO version VALUES (?)", (uuid.uuid4().hex,))
