"""A named library: the documents that a user keeps, in one SQLite file.

    source     a file as it was when it was read
    document   what it holds, one or (JSON lines) many: title, text, marks
    passage    a piece of a document, at most `PASSAGE_CHARS` long, with its words in an FTS5 index for BM25

Each file is one transaction: a process killed at any moment leaves whole documents, and adding again goes on from
there. What recall derives for a model (`wim_edge.recall.index`) stands beside it and names the version it is from.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from wim_edge.documents import Document, Mark
from wim_edge.errors import LibraryError
from wim_edge.library.database import connected, transaction
from wim_edge.library.folders import folder_of, known_libraries, size_of
from wim_edge.library.passages import passages
from wim_edge.library.schema import EARLIER, bring_up_to_date, change, make, version_of
from wim_edge.settings import Paths
from wim_edge.words import any_of_its_words, searchable

TITLE_WEIGHT = 2.0
"""A word of the title counts as this many of the text: BM25's recall at 1 rose from 0.80 to 0.82 (docs/choices.md)."""
_DIGEST = 16


@dataclass(frozen=True)
class Hit:
    """A passage that shares words with a query."""

    document: int
    start: int
    end: int
    score: float
    """BM25, above 0."""


@dataclass(frozen=True)
class SourceFile:
    """A file, as it was when its documents were read."""

    path: str
    mtime_ns: int
    size: int
    digest: bytes
    """Its bytes' SHA-256; empty where an earlier version read it."""
    documents: int


@dataclass(frozen=True)
class SourceDetail:
    """A file, and what was read of it."""

    path: str
    mtime_ns: int
    size: int
    documents: int
    chars: int
    title: str
    name: str
    """The name of its document, if it holds just one; else empty."""


@dataclass(frozen=True)
class StoredDocument:
    """A document of the library."""

    id: int
    title: str
    document: Document
    digest: bytes
    """A digest of the title, the text and the marks."""
    mtime_ns: int
    size: int
    """The size of its file in bytes; like ``mtime_ns``, as it was when the file was added."""


@dataclass(frozen=True)
class DocumentEntry:
    """A document, without its text."""

    id: int
    title: str
    name: str
    path: str
    """The path of its file."""
    chars: int
    pages: int | None


class Library:
    """The library of this name. Raises LibraryError if there is none (unless it may ``create`` one) or it cannot be
    read; InvalidRequestError for a name that is not allowed."""

    def __init__(self, name: str, paths: Paths | None = None, *, create: bool = False) -> None:
        self.name, self.folder = name, folder_of(name, paths)
        self._path = self.folder / "documents.sqlite"
        if not self._path.exists() and not create:
            known = known_libraries(paths)
            hint = f"There are: {', '.join(known)}." if known else "wim-edge library add --to NAME FILE..."
            raise LibraryError(f"there is no library {name}", hint)
        if create:
            with self._library_errors():
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                with transaction(self._path) as db:
                    make(db)
        with self._read() as db:
            version = version_of(db)
        if version == 0 and not create:
            raise LibraryError(f"library {name} holds nothing yet", f"wim-edge library add --to {name} FILE...")
        if version == EARLIER:
            with self._write() as db:
                bring_up_to_date(db)

    # What is there

    @property
    def version(self) -> str:
        """A random id that changes with every document that comes or goes."""
        with self._read() as db:
            found = db.execute("SELECT id FROM version").fetchall()
            if len(found) != 1 or not isinstance(found[0][0], str):
                raise sqlite3.DatabaseError("its version is missing")
            return found[0][0]

    def __len__(self) -> int:
        """Counts the documents."""
        with self._read() as db:
            (n,) = db.execute("SELECT count(*) FROM document").fetchone()
        return int(n)

    def roots(self, within: Path | None = None) -> list[Path]:
        """Returns the files and folders that were added, without those in others of them; or those ``within`` one."""
        with self._read() as db:
            found = [Path(path) for (path,) in db.execute("SELECT path FROM root ORDER BY path")]
        known = set(found)
        return [path for path in found if (within in path.parents if within else known.isdisjoint(path.parents))]

    def sources(self) -> dict[str, SourceFile]:
        """Returns the files, by path."""
        with self._read() as db:
            rows = db.execute(
                "SELECT path, mtime_ns, size, source.digest, count(document.id) "
                "FROM source LEFT JOIN document ON source.id = source GROUP BY source.id ORDER BY path"
            ).fetchall()
            if not all(isinstance(path, str) for path, *_ in rows):
                raise sqlite3.DatabaseError("a path is missing")
        return {row[0]: SourceFile(*row) for row in rows}

    def details(self) -> list[SourceDetail]:
        """Returns the files with what was read of them, by path."""
        with self._read() as db:
            rows = db.execute(
                "SELECT path, mtime_ns, size, count(document.id), coalesce(sum(length(text)), 0), "
                "CASE WHEN count(document.id) = 1 THEN max(title) ELSE '' END, "
                "CASE WHEN count(document.id) = 1 THEN max(name) ELSE '' END "
                "FROM source LEFT JOIN document ON source.id = source GROUP BY source.id ORDER BY path"
            ).fetchall()
        return [SourceDetail(*row) for row in rows]

    def documents_of(self, path: str) -> list[int]:
        """Returns the ids of a file's documents."""
        with self._read() as db:
            found = db.execute(
                "SELECT document.id FROM document JOIN source ON source.id = source WHERE path = ? ORDER BY 1",
                (path,),
            ).fetchall()
        return [number for (number,) in found]

    def find(self, name: str) -> StoredDocument | None:
        """Returns the document of this name, as events name it; None if there is none."""
        with self._read() as db:
            row = db.execute("SELECT id FROM document WHERE name = ?", (name,)).fetchone()
        return next(iter(self.documents(row)), None) if row else None

    def digests(self) -> list[tuple[int, bytes]]:
        """Returns each document's id and a digest of its title and text, in the order of the ids."""
        with self._read() as db:
            found = db.execute("SELECT id, digest FROM document ORDER BY id").fetchall()
            if not all(isinstance(digest, bytes) and len(digest) == _DIGEST for _, digest in found):
                raise sqlite3.DatabaseError("a digest is missing")
        return found

    def entries(self) -> list[DocumentEntry]:
        """Returns all documents, in the order of their ids, even damaged ones."""
        with self._read() as db:
            found = db.execute(
                "SELECT document.id, CAST(title AS BLOB), CAST(name AS BLOB), CAST(path AS BLOB), length(text), "
                "CAST(marks AS BLOB) FROM document JOIN source ON source.id = source ORDER BY document.id"
            ).fetchall()
        return [
            DocumentEntry(number, _text(title), _text(name), _text(path), int(chars or 0), _pages(marks))
            for number, title, name, path, chars, marks in found
        ]

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Returns these documents, in this order, without those that are gone. Each is checked against its digest."""
        found: dict[int, StoredDocument] = {}
        with self._read() as db:
            for number in dict.fromkeys(ids):
                row = db.execute(
                    "SELECT title, text, marks, document.digest, name, path, mtime_ns, size FROM document JOIN source "
                    "ON source.id = source WHERE document.id = ?", (number,),
                ).fetchone()  # fmt: skip
                if not row:
                    continue
                title, text, marks, digest, name, path, mtime_ns, size = row
                sound = all(isinstance(one, str) for one in (title, name, path)) and _is_name(name, title)
                if not sound or _digest(title, text, marks) != digest:
                    raise sqlite3.DatabaseError(f"document {number} is not what was written")
                placed = tuple(Mark(*mark) for mark in json.loads(marks))
                document = Document(name, text, placed, Path(path), title=title)
                found[number] = StoredDocument(number, title, document, digest, mtime_ns, size)
        return [found[number] for number in ids if number in found]

    def search(self, query: str, most: int) -> list[Hit]:
        """Returns the passages that share words with a query, the best first: BM25 (Robertson and Zaragoza 2009), as
        SQLite's FTS5 computes it, over stems (`wim_edge.words`)."""
        expression = any_of_its_words(query)
        if expression is None:
            return []
        with self._read() as db:
            rows = db.execute(
                "SELECT document, start, end, passage.id, sum, -score FROM "
                f"(SELECT rowid, bm25(words, {TITLE_WEIGHT}, 1.0) AS score FROM words "
                "WHERE words MATCH ? ORDER BY score LIMIT ?) AS best "
                "JOIN passage ON passage.id = best.rowid ORDER BY score, best.rowid",
                (expression, most),
            ).fetchall()
            if not all(_sum(*row[:4]) == row[4] for row in rows):
                raise sqlite3.DatabaseError("a passage is not what was written")
        return [Hit(row[0], row[1], row[2], row[5]) for row in rows]

    @property
    def nbytes(self) -> int:
        """The bytes on disk: documents, words, and what was derived for models."""
        return size_of(self.folder)

    # Changes

    def add_root(self, path: Path) -> None:
        """Remembers a file or folder that was added, so that new files in it are found."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO root VALUES (?)", (str(path),))

    def put(
        self, path: str, mtime_ns: int, size: int, documents: Iterable[tuple[str, Document]], digest: bytes = b""
    ) -> int:
        """Keeps the documents of a file, each with its title, in place of those it had; returns their number."""
        with self._write() as db:
            before = db.execute(
                "SELECT title, name, number FROM document JOIN source ON source.id = source WHERE path = ? "
                "ORDER BY document.id", (path,),
            ).fetchall()  # fmt: skip
            names_of: dict[str, list[tuple[str, int]]] = {}
            for title, name, copy in before:
                names_of.setdefault(title, []).append((name, copy))
            self._forget(db, path)
            source = db.execute(
                "INSERT INTO source (path, mtime_ns, size, digest, added) VALUES (?, ?, ?, ?, ?)",
                (path, mtime_ns, size, digest, time.time()),
            ).lastrowid
            n = 0
            for n, (given, original) in enumerate(documents, 1):  # noqa: B007
                # SQLite's functions end a text at NUL: what is deleted must be what was written
                title, text = (one.replace("\0", "\ufffd") for one in (given, original.text))
                document = replace(original, text=text)
                marks = json.dumps([mark.values() for mark in document.marks])
                had = names_of.get(title)  # a document keeps its name when its file changes
                own = had.pop(0) if had else None
                name, copy = own if own and not _taken(db, own[0]) else _unused(db, title)
                number = db.execute(
                    "INSERT INTO document (source, name, title, number, text, marks, digest) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (source, name, title, copy, text, marks, _digest(title, text, marks)),
                ).lastrowid
                for start, end in passages(document):
                    row = db.execute("INSERT INTO passage (document) VALUES (?)", (number,)).lastrowid
                    checked = (start, end, _sum(number, start, end, row), row)
                    db.execute("UPDATE passage SET start = ?, end = ?, sum = ? WHERE id = ?", checked)
                    words = (row, searchable(title), searchable(document.text[start:end]))
                    db.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", words)
            change(db)
        return n

    def move(self, path: str, new: str, mtime_ns: int) -> None:
        """Keeps what is there of a file under its new path and time of change."""
        with self._write() as db:
            db.execute("UPDATE source SET path = ?, mtime_ns = ? WHERE path = ?", (new, mtime_ns, path))

    def remove(self, path: str) -> bool:
        """Removes a file's documents, and that it was added by name; returns whether the file was there."""
        with self._write() as db:
            db.execute("DELETE FROM root WHERE path = ?", (path,))
            found = self._forget(db, path)
            if found:
                change(db)
        return found

    @staticmethod
    def _forget(db: sqlite3.Connection, path: str) -> bool:
        # FTS5 without a copy of the text forgets a row by being told its words again
        db.execute(
            "INSERT INTO words (words, rowid, title, text) SELECT 'delete', passage.id, searchable(title), "
            "searchable(substr(text, start + 1, end - start)) FROM passage JOIN document ON document.id = document "
            "JOIN source ON source.id = source WHERE path = ?", (path,),
        )  # fmt: skip
        return db.execute("DELETE FROM source WHERE path = ?", (path,)).rowcount > 0

    # Connections

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._library_errors(), connected(self._path, create=False) as db:
            yield db

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._library_errors(), transaction(self._path, create=False) as db:
            db.create_function("searchable", 1, searchable, deterministic=True)
            yield db

    @contextmanager
    def _library_errors(self) -> Iterator[None]:
        """Raises failures of the disk as LibraryError."""
        try:
            yield
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            hint = "Check the disk, or try again."
            damaged = type(error) is sqlite3.DatabaseError or isinstance(error, UnicodeDecodeError)
            if damaged or re.match("Could not decode|.*(exists|no such)", str(error)):
                hint = f"Remove it (wim-edge library remove {self.name}) and add the documents again."
            elif "fts5" in str(error):
                hint = "The SQLite of this Python lacks FTS5; use another build of Python."
            # The message about damaged characters repeats all of the text
            what = "a text in it is damaged" if str(error).startswith("Could not decode") else error
            raise LibraryError(f"library {self.name}: {what}", hint) from error


def open_library(name: str) -> Library:
    """Returns a library that holds something. Raises LibraryError."""
    library = Library(name)
    if not len(library):
        raise LibraryError(f"library {name} holds no documents", f"wim-edge library add --to {name} FILE...")
    return library


def _unused(db: sqlite3.Connection, title: str) -> tuple[str, int]:
    """Returns the title, or "title (2)" and so on where documents of that name exist already, and that number."""
    if not _taken(db, title):
        return title, 1
    copies = "SELECT coalesce(max(number), 1) FROM document WHERE title = ? AND number > 1"
    (number,) = db.execute(copies, (title,)).fetchone()
    while True:
        number += 1
        if not _taken(db, f"{title} ({number})"):
            return f"{title} ({number})", number


def _is_name(name: str, title: str) -> bool:
    """Tells whether the name is the title, perhaps with a number."""
    return name.startswith(title) and re.fullmatch(r"( \(\d+\))?", name[len(title) :]) is not None


def _taken(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM document WHERE name = ?", (name,)).fetchone() is not None


def _digest(*texts: object) -> bytes:
    return hashlib.blake2b("\0".join(map(str, texts)).encode("utf-8", "replace"), digest_size=_DIGEST).digest()


def _sum(*numbers: object) -> int:
    """Returns a checksum of a passage: its document, its place and its number."""
    return zlib.crc32(repr(numbers).encode())


def _text(stored: object) -> str:
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else ""


def _pages(marks: bytes) -> int | None:
    """Returns the last page of a document; None if it has no pages, or its marks are damaged."""
    try:
        return max((page for _, page, *_ in json.loads(marks) if page is not None), default=None)
    except (ValueError, TypeError, RecursionError):
        return None
