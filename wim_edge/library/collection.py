"""A named library: the documents that a user keeps, in one SQLite file.

    source     a file as it was when it was read
    document   what it holds, one or (JSON lines) many: title, text, marks
    passage    a piece of a document, at most `PASSAGE_CHARS` long, with its words in an FTS5 index for BM25

Each file is one transaction: a process killed at any moment leaves whole documents, and adding again goes on from
there. What recall derives for a model (`wim_edge.recall.index`) stands beside it and names the version it is of.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from wim_edge.documents import Document, Mark, split
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.database import connected, transaction
from wim_edge.settings import Paths

PASSAGE_CHARS = 1000
_SECTION_CHARS = 200  # a shorter section shares its passage with the next one
TITLE_WEIGHT = 2.0
"""A word of the title counts for so many of the text: BM25's recall at 1 rose from 0.80 to 0.82 (docs/results.md)."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WORD = re.compile(r"\w+")
_VERSION = 1
_SCHEMA = """
CREATE TABLE version (uuid TEXT, changes INTEGER);
CREATE TABLE source (id INTEGER PRIMARY KEY, path TEXT UNIQUE, mtime_ns INTEGER, size INTEGER, added REAL);
CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER REFERENCES source ON DELETE CASCADE, name TEXT UNIQUE,
    title TEXT, text TEXT, marks TEXT, digest BLOB);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER REFERENCES document ON DELETE CASCADE,
    start INTEGER, end INTEGER);
CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='porter unicode61');
CREATE INDEX document_title ON document (title);
CREATE INDEX document_source ON document (source);
CREATE INDEX passage_document ON passage (document);
"""
# The commonest words of English questions: they cost most of the search and decide nothing
_STOPWORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by did do does for from had has have how if in into is it its no not of on or s "
        "such that the their then there these they this to was were what when where which who whom whose why will with"
    )
)


@dataclass(frozen=True)
class Hit:
    """A passage that shares words with a query."""

    document: int
    start: int
    end: int
    score: float
    """BM25, above 0."""


@dataclass(frozen=True)
class Source:
    """A file, as it was when its documents were read."""

    path: str
    mtime_ns: int
    size: int
    documents: int
    chars: int
    title: str
    """Of its document, where it is one."""


@dataclass(frozen=True)
class Kept:
    """A document of the library."""

    id: int
    title: str
    document: Document


class Collection:
    """The library of this name. Raises LibraryError where there is none (unless it may ``create`` one), or it
    cannot be read; InvalidRequestError for a name that is none."""

    def __init__(self, name: str, paths: Paths | None = None, *, create: bool = False) -> None:
        self.name, self.folder = name, folder_of(name, paths)
        self._path = self.folder / "documents.sqlite"
        if not self._path.exists() and not create:
            known = names(paths)
            hint = f"There are: {', '.join(known)}." if known else "wim-edge library add --to NAME FILE..."
            raise LibraryError(f"there is no library {name}", hint)
        with self._told():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._write() as db:
                (version,) = db.execute("PRAGMA user_version").fetchone()
                if version == 0:
                    db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION};")
                    db.execute("INSERT INTO version VALUES (?, 0)", (uuid.uuid4().hex,))
                elif version != _VERSION:
                    raise sqlite3.OperationalError(f"format {version}, of another version of wim-edge")

    # What is there

    @property
    def version(self) -> str:
        """Changes with every document that comes or goes."""
        with self._read() as db:
            return "{}-{}".format(*db.execute("SELECT uuid, changes FROM version").fetchone())

    def __len__(self) -> int:
        """Documents."""
        with self._read() as db:
            (n,) = db.execute("SELECT count(*) FROM document").fetchone()
        return int(n)

    def sources(self) -> dict[str, Source]:
        """The files, by path."""
        with self._read() as db:
            rows = db.execute(
                "SELECT path, mtime_ns, size, count(document.id), coalesce(sum(length(text)), 0), "
                "CASE WHEN count(document.id) = 1 THEN max(title) ELSE '' END "
                "FROM source LEFT JOIN document ON source.id = source GROUP BY source.id ORDER BY path"
            ).fetchall()
        return {row[0]: Source(*row) for row in rows}

    def digests(self) -> list[tuple[int, bytes]]:
        """Each document's id and a digest of its title and text, in the order of the ids."""
        with self._read() as db:
            return db.execute("SELECT id, digest FROM document ORDER BY id").fetchall()

    def documents(self, ids: Sequence[int]) -> list[Kept]:
        """These documents, in this order; those that are gone are left out."""
        found: dict[int, Kept] = {}
        with self._read() as db:
            for number in dict.fromkeys(ids):
                row = db.execute(
                    "SELECT document.id, title, name, text, marks, path FROM document JOIN source "
                    "ON source.id = source WHERE document.id = ?", (number,),
                ).fetchone()  # fmt: skip
                if row:
                    marks = tuple(Mark(*mark) for mark in json.loads(row[4]))
                    found[number] = Kept(row[0], row[1], Document(row[2], row[3], marks, Path(row[5]), title=row[1]))
        return [found[number] for number in ids if number in found]

    def search(self, query: str, most: int) -> list[Hit]:
        """The passages that share words with a query, the best first: BM25 (Robertson and Zaragoza 2009), as SQLite's
        FTS5 computes it, over stems of English words."""
        words = list(dict.fromkeys(_WORD.findall(query.lower())))
        words = [word for word in words if word not in _STOPWORDS] or words
        if not words:
            return []
        with self._read() as db:
            rows = db.execute(
                f"SELECT document, start, end, -score FROM (SELECT rowid, bm25(words, {TITLE_WEIGHT}, 1.0) AS score "
                "FROM words WHERE words MATCH ? ORDER BY score LIMIT ?) AS best "
                "JOIN passage ON passage.id = best.rowid ORDER BY score, best.rowid",
                (" OR ".join(f'"{word}"' for word in words), most),
            ).fetchall()
        return [Hit(*row) for row in rows]

    @property
    def nbytes(self) -> int:
        """Bytes on disk: documents, words, and what was derived for models."""
        return _size(self.folder)

    # Changes

    def put(self, path: str, mtime_ns: int, size: int, documents: Iterable[tuple[str, Document]]) -> int:
        """Keep the documents of a file, each with its title, in the place of those it had; how many they are."""
        with self._write() as db:
            before = db.execute(
                "SELECT title, name FROM document JOIN source ON source.id = source WHERE path = ? "
                "ORDER BY document.id", (path,),
            ).fetchall()  # fmt: skip
            self._forget(db, path)
            source = db.execute(
                "INSERT INTO source (path, mtime_ns, size, added) VALUES (?, ?, ?, ?)",
                (path, mtime_ns, size, time.time()),
            ).lastrowid
            n = 0
            for n, (title, document) in enumerate(documents, 1):  # noqa: B007
                marks = json.dumps([(mark.start, mark.page, mark.section) for mark in document.marks])
                digest = hashlib.blake2b(f"{title}\0{document.text}".encode(), digest_size=16).digest()
                own = next((pair for pair in before if pair[0] == title), None)
                if own is not None:  # a document keeps its name when its file changes
                    before.remove(own)
                number = db.execute(
                    "INSERT INTO document (source, name, title, text, marks, digest) VALUES (?, ?, ?, ?, ?, ?)",
                    (source, _unused(db, title, own and own[1]), title, document.text, marks, digest),
                ).lastrowid
                for start, end in _passages(document):
                    row = db.execute(
                        "INSERT INTO passage (document, start, end) VALUES (?, ?, ?)", (number, start, end)
                    ).lastrowid
                    words = (row, title, document.text[start:end])
                    db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", words)
            db.execute("UPDATE version SET changes = changes + 1")
        return n

    def remove(self, path: str) -> bool:
        """Let go of a file's documents; whether it was there."""
        with self._write() as db:
            found = self._forget(db, path)
            db.execute("UPDATE version SET changes = changes + ?", (int(found),))
        return found

    @staticmethod
    def _forget(db: sqlite3.Connection, path: str) -> bool:
        # FTS5 without a copy of the text forgets a row by being told its words again
        db.execute(
            "INSERT INTO words (words, rowid, title, text) SELECT 'delete', passage.id, title, "
            "substr(text, start + 1, end - start) FROM passage JOIN document ON document.id = document "
            "JOIN source ON source.id = source WHERE path = ?", (path,),
        )  # fmt: skip
        return db.execute("DELETE FROM source WHERE path = ?", (path,)).rowcount > 0

    # Connections

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._told(), connected(self._path) as db:
            yield db

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._told(), transaction(self._path) as db:
            yield db

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong with the disk, as our error."""
        try:
            yield
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            hint = "Check the disk, or try again."
            if type(error) is sqlite3.DatabaseError or isinstance(error, UnicodeDecodeError):
                hint = f"Remove it (wim-edge library drop {self.name}) and add the documents again."
            elif "fts5" in str(error):
                hint = "The SQLite of this Python lacks FTS5; use another build of Python."
            raise LibraryError(f"library {self.name}: {error}", hint) from error


def folder_of(name: str, paths: Paths | None = None) -> Path:
    """Where a library of this name stands. Raises InvalidRequestError for what is no name."""
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} is no name for a library", "Letters, digits, dots, dashes and underscores, 64 at most."
        )
    return (paths or Paths.from_environment()).libraries / name


def names(paths: Paths | None = None) -> list[str]:
    """The libraries that there are."""
    folder = (paths or Paths.from_environment()).libraries
    return sorted(path.parent.name for path in folder.glob("*/documents.sqlite"))


def remove(name: str, paths: Paths | None = None) -> int:
    """Delete a library, sound or not, and what was derived from it; the bytes that it took. Raises LibraryError."""
    folder = folder_of(name, paths)
    if not folder.is_dir():
        raise LibraryError(f"there is no library {name}", "wim-edge library show")
    freed = _size(folder)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise LibraryError(f"library {name}: {error.strerror or error}", "Check the disk, or try again.") from error
    return freed


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _passages(document: Document) -> Iterator[tuple[int, int]]:
    """The document in pieces of at most `PASSAGE_CHARS`. A heading stays with what follows it: no piece goes on from
    one section into the next, unless it is hardly more than a heading so far."""
    starts = [0]
    for mark in document.marks:
        if mark.section and mark.start - starts[-1] >= _SECTION_CHARS:
            starts.append(mark.start)
    for start, end in pairwise([*starts, len(document.text)]):
        for segment in split(document.text[start:end], PASSAGE_CHARS, _as_codes):
            yield start + segment.start, start + segment.end


def _unused(db: sqlite3.Connection, title: str, own: str | None) -> str:
    """The name it had, or the title, or "title (2)" and so on where documents of that name are there already."""
    (number,) = db.execute("SELECT count(*) FROM document WHERE title = ?", (title,)).fetchone()
    name = own or title
    while db.execute("SELECT 1 FROM document WHERE name = ?", (name,)).fetchone():
        number += 1
        name = f"{title} ({number})"
    return name


def _as_codes(text: str) -> Sequence[int]:
    """Characters for tokens."""
    return range(len(text))
