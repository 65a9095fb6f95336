"""The SQLite index of saved readings: which files hold which tokens, and the documents that the tokens come from.

    reading   a document (or several, asked together) as one model read it
    state     a file with the model's KV cache after the first ``tokens`` tokens of a sequence
    part      a state that a reading needs; a state that no reading needs is deleted
    prefix    a digest of the first tokens of a state; a reading can continue after these tokens
    vector    an embedding model's vector of a text, by the text's digest
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wim_edge.library.database import connected, transaction
from wim_edge.settings import Settings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reading (
    id INTEGER PRIMARY KEY, fingerprint TEXT, source TEXT, shape TEXT, title TEXT, model TEXT,
    tokens INTEGER, of_tokens INTEGER, created REAL, used REAL, UNIQUE (fingerprint, source, shape));
CREATE TABLE IF NOT EXISTS state (
    id INTEGER PRIMARY KEY, file TEXT UNIQUE, bytes INTEGER, tokens INTEGER);
CREATE TABLE IF NOT EXISTS prefix (
    fingerprint TEXT, digest TEXT, tokens INTEGER, state INTEGER REFERENCES state ON DELETE CASCADE,
    PRIMARY KEY (fingerprint, digest, state)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS part (
    reading INTEGER REFERENCES reading ON DELETE CASCADE, state INTEGER REFERENCES state ON DELETE CASCADE,
    PRIMARY KEY (reading, state)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector (
    reading INTEGER REFERENCES reading ON DELETE CASCADE, fingerprint TEXT, digest TEXT, data BLOB,
    PRIMARY KEY (fingerprint, digest, reading)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS part_state ON part (state);
CREATE INDEX IF NOT EXISTS prefix_state ON prefix (state);
PRAGMA user_version = 2;
"""
_AMONG = "digest IN (SELECT value FROM json_each(?))"
_OLD, _VERSION = 1, 2  # format 1 is of wim-edge 0.1: its states begin with other prompts, so none would be found


@dataclass(frozen=True)
class ReadingRecord:
    """A saved reading. ``source``: the documents' paths or text digests, one a line; ``shape``: "deep" or "shallow"."""

    id: int
    title: str
    source: str
    shape: str
    model: str
    tokens: int
    """The number of document tokens that are saved."""
    of_tokens: int
    """The number of all document tokens, saved or not."""
    bytes: int
    created: float
    used: float


class ReadingsDatabase:
    """The index of a folder of saved readings. Methods raise sqlite3.Error; see `database.is_corrupt`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with transaction(self._path) as db:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version not in (0, _OLD, _VERSION):
                raise sqlite3.OperationalError(f"another version of wim-edge keeps readings there, format {version}")
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "reading" not in tables:
                raise sqlite3.OperationalError("another program's database is there")
            self.was_old = version == _OLD
            if self.was_old:
                db.execute("DELETE FROM reading")
                db.execute("DELETE FROM state")
            db.executescript(_SCHEMA)

    def _rows(self, query: str, *values: object) -> list[Any]:
        with connected(self._path) as db:
            return db.execute(query, values).fetchall()

    # Queries

    def longest(self, fingerprint: str, digests: Sequence[str], most: int) -> tuple[int, str] | None:
        """Returns (id, file) of a state of at most ``most`` tokens with the longest prefix in ``digests``, or None."""
        rows = self._rows(
            "SELECT state.id, file FROM prefix JOIN state ON state = state.id WHERE fingerprint = ? AND "
            f"state.tokens <= ? AND {_AMONG} ORDER BY prefix.tokens DESC, state.tokens LIMIT 1",
            fingerprint, most, json.dumps(digests),
        )  # fmt: skip
        return rows[0] if rows else None

    def readings(self) -> list[ReadingRecord]:
        """Returns all readings, most recently used first."""
        rows = self._rows(
            "SELECT reading.id, title, source, shape, model, reading.tokens, of_tokens, "
            "coalesce(sum(bytes), 0), created, used FROM reading LEFT JOIN part ON reading = reading.id "
            "LEFT JOIN state ON state = state.id GROUP BY reading.id ORDER BY used DESC"
        )
        return [ReadingRecord(*row) for row in rows]

    def total(self) -> int:
        """Returns the bytes of all state files and of all vectors together."""
        return sum(int(n) for (n,) in self._rows(
            "SELECT coalesce(sum(bytes), 0) FROM state UNION ALL SELECT coalesce(sum(length(data)), 0) FROM vector"
        ))  # fmt: skip

    def files(self) -> set[str]:
        return {file for (file,) in self._rows("SELECT file FROM state")}

    def vectors(self, fingerprint: str, digests: Sequence[str]) -> dict[str, bytes]:
        """Returns {text digest: saved vector as float16 bytes}. ``fingerprint`` identifies the embedding model."""
        query = f"SELECT digest, data FROM vector WHERE fingerprint = ? AND {_AMONG}"
        rows = self._rows(query, fingerprint, json.dumps(digests))
        return {digest: data for digest, data in rows if isinstance(data, bytes)}

    def prefixes(self, reading: int) -> dict[str, int]:
        """Returns {prefix digest: state id} for the prefixes of all states of the reading whose id is ``reading``."""
        return dict(self._rows(
            "SELECT digest, part.state FROM part JOIN prefix ON prefix.state = part.state WHERE reading = ?", reading
        ))  # fmt: skip

    # Changes

    def add_vectors(self, reading: int, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Saves {text digest: float16 bytes} with a reading. ``fingerprint`` identifies the embedding model."""
        rows = [(reading, fingerprint, digest, data) for digest, data in vectors.items()]
        with transaction(self._path) as db:
            db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)

    def open_reading(self, fingerprint: str, source: str, shape: str, *, title: str, model: str, of_tokens: int) -> int:
        """Returns the id of a reading, which is created if missing. Sets the reading's time of last use to now."""
        now = time.time()
        with transaction(self._path) as db:
            db.execute(
                "INSERT INTO reading (fingerprint, source, shape, title, model, tokens, of_tokens, created, used) "
                "VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT (fingerprint, source, shape) DO UPDATE SET "
                "title = excluded.title, model = excluded.model, of_tokens = excluded.of_tokens, used = excluded.used",
                (fingerprint, source, shape, title, model, of_tokens, now, now),
            )
            query = "SELECT id FROM reading WHERE fingerprint = ? AND source = ? AND shape = ?"
            (found,) = db.execute(query, (fingerprint, source, shape)).fetchone()
        return int(found)

    def add(
        self, reading: int, fingerprint: str, file: str, size: int, prefixes: Sequence[tuple[str, int]]
    ) -> tuple[int, bool]:
        """Adds a state's file to a reading. ``prefixes``: (digest, number of tokens), from short to long. Returns
        (state id, True). If a saved state has the same tokens, adds that state instead, and returns (its id, False)."""
        longest, tokens = prefixes[-1]
        with transaction(self._path) as db:
            known = db.execute(
                "SELECT state FROM prefix JOIN state ON state = state.id "
                "WHERE fingerprint = ? AND digest = ? AND state.tokens = ?",
                (fingerprint, longest, tokens),
            ).fetchone()
            if known:
                db.execute("INSERT OR IGNORE INTO part VALUES (?, ?)", (reading, known[0]))
                return int(known[0]), False
            cursor = db.execute("INSERT INTO state (file, bytes, tokens) VALUES (?, ?, ?)", (file, size, tokens))
            state = cursor.lastrowid or 0
            rows = [(fingerprint, digest, length, state) for digest, length in prefixes]
            db.executemany("INSERT OR IGNORE INTO prefix VALUES (?, ?, ?, ?)", rows)
            db.execute("INSERT INTO part VALUES (?, ?)", (reading, state))
        return int(state), True

    def keep(self, reading: int, states: Iterable[int], tokens: int) -> int:
        """Sets a reading's states (ids) and its number of saved tokens: 0 if a state is missing. Returns the number."""
        held = set(states)
        with transaction(self._path) as db:
            known = {state for (state,) in db.execute("SELECT id FROM state")}
            db.execute("DELETE FROM part WHERE reading = ?", (reading,))
            db.executemany("INSERT INTO part VALUES (?, ?)", [(reading, state) for state in held & known])
            tokens = tokens if held <= known else 0
            db.execute("UPDATE reading SET tokens = ?, used = ? WHERE id = ?", (tokens, time.time(), reading))
        return tokens

    def drop_reading(self, reading: int) -> None:
        with transaction(self._path) as db:
            db.execute("DELETE FROM reading WHERE id = ?", (reading,))

    def drop_state(self, file: str) -> None:
        with transaction(self._path) as db:
            db.execute("DELETE FROM state WHERE file = ?", (file,))

    def drop_unreferenced(self) -> list[str]:
        """Removes from the index the states that no reading refers to; returns the names of their files."""
        with transaction(self._path) as db:
            unused = "FROM state WHERE id NOT IN (SELECT state FROM part)"
            files = [file for (file,) in db.execute(f"SELECT file {unused}")]
            db.execute(f"DELETE {unused}")
        return files


PREFIX, LOCK = "wim-edge-readings-", "lock"
_YOUNG = 5.0  # seconds: a younger folder may not be locked yet


@contextmanager
def kept_meanwhile(settings: Settings) -> Iterator[Settings]:
    """Yields settings that save readings. If saving was off, readings go to a folder deleted after the block."""
    if settings.save:
        yield settings
        return
    sweep()
    # On Windows, files that are still open stay until the next sweep
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder, ExitStack() as held:
        with suppress(NotImplementedError):  # a file system without locks
            held.enter_context(FileLock(Path(folder, LOCK)))
        yield settings.with_changes(save=True, readings=Path(folder))


def sweep() -> None:
    """Deletes temporary folders of readings that killed processes left: folders that no process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout, NotImplementedError):
            # Other users may also create temporary folders
            is_ours = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
            if is_ours and time.time() - (folder / LOCK).stat().st_mtime > _YOUNG:
                with FileLock(folder / LOCK, timeout=0):
                    pass  # the lock is free, and Windows would not delete the folder while we hold it
                shutil.rmtree(folder)
