"""Libraries: documents that a user keeps under a name, in one SQLite file beside the library's indexes for models.

    source     a file, with its state when it was read
    document   one document of a file (a JSON-lines file has many): title, text, marks
    passage    a piece of a document, at most `PASSAGE_CHARS` long, with its words in an FTS5 index for BM25
    removed    the documents of files that a sync removed (`Library.removed_documents`)

Each file is added in one transaction, so a killed process leaves no partial documents. A model's index (built by
`wim_edge.recall`) names the version of the library that it covers.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wim_edge.documents import Document
from wim_edge.documents.document import with_file_name
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library import documents_db
from wim_edge.library.database import connected, is_corrupt, transaction
from wim_edge.library.documents_db import FileState
from wim_edge.settings import NO_DEVICE, Paths
from wim_edge.words import any_of_its_words, searchable

TITLE_WEIGHT = 2.0
"""The BM25 weight of a word in the title (text: 1), which raised recall at 1 from 0.80 to 0.82 (docs/choices.md)."""
_DOCUMENTS = "document JOIN source ON source.id = source"
_NAME = re.compile(rf"{NO_DEVICE}[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}(?<!\.)")


@dataclass(frozen=True)
class Hit:
    """A passage that shares words with a query: the document's id, and [start, end) in characters of its text."""

    document: int
    start: int
    end: int
    score: float
    """The BM25 score, above 0; higher is better."""


@dataclass(frozen=True)
class SourceFile:
    path: str
    state: FileState
    is_restored: bool
    """True if the file's documents were restored: a sync keeps them although the file is missing."""
    documents: int


@dataclass(frozen=True)
class StoredDocument:
    id: int
    title: str
    document: Document
    digest: bytes
    """The digest of title, text and marks (`documents_db.document_digest`)."""
    file: FileState


@dataclass(frozen=True)
class DocumentEntry:
    """The data of a document in a library, without the text."""

    id: int
    title: str
    name: str
    path: str
    chars: int
    pages: int | None


@dataclass(frozen=True)
class RemovedDocument:
    """A document that a sync removed, and that `Library.restore` can restore."""

    path: str
    name: str
    title: str
    chars: int
    removed: float
    """The time of the removal, in seconds since 1970."""


class Library:
    """A user's library. ``create``: creates a missing one. Raises LibraryError if the library is missing or cannot be
    read, InvalidRequestError for an invalid name."""

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
                    documents_db.make(db)
        with self._read() as db:
            version = documents_db.version_of(db)
        if version == 0 and not create:
            raise LibraryError(f"library {name} holds nothing yet", f"wim-edge library add --to {name} FILE...")
        if 0 < version < documents_db.VERSION:
            with self._write() as db:
                documents_db.bring_up_to_date(db)

    # Queries

    @property
    def version(self) -> str:
        """A random id that changes whenever documents are added or removed."""
        found = self._rows("SELECT id FROM version")
        self._check(len(found) == 1 and isinstance(found[0][0], str), "its version is missing")
        return str(found[0][0])

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM document")[0][0])

    def roots(self, within: Path | None = None) -> list[Path]:
        """Returns the added paths that are in no other added folder; given ``within``, all added paths inside it."""
        found = [Path(path) for (path,) in self._rows("SELECT path FROM root ORDER BY path")]
        known = set(found)
        return [path for path in found if (within in path.parents if within else known.isdisjoint(path.parents))]

    def sources(self) -> dict[str, SourceFile]:
        """Returns the library's files by path."""
        rows = self._rows(
            "SELECT path, mtime_ns, size, stamp, source.digest, restored, count(document.id) "
            "FROM source LEFT JOIN document ON source.id = source GROUP BY source.id ORDER BY path"
        )
        self._check(all(isinstance(path, str) for path, *_ in rows), "a path is missing")
        return {path: SourceFile(path, FileState(*state), bool(flag), n) for path, *state, flag, n in rows}

    def details(self) -> list[dict[str, Any]]:
        """Returns a dict per file: path, mtime_ns, size, documents, chars; title and name, if it has one document."""
        rows = self._rows(
            "SELECT path, mtime_ns, size, count(document.id), coalesce(sum(length(text)), 0), "
            "CASE WHEN count(document.id) = 1 THEN max(title) ELSE '' END, "
            "CASE WHEN count(document.id) = 1 THEN max(name) ELSE '' END "
            "FROM source LEFT JOIN document ON source.id = source GROUP BY source.id ORDER BY path"
        )
        names = ("path", "mtime_ns", "size", "documents", "chars", "title", "name")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def documents_of(self, path: str) -> list[int]:
        """Returns the ids of a file's documents."""
        found = self._rows(f"SELECT document.id FROM {_DOCUMENTS} WHERE path = ? ORDER BY 1", path)
        return [number for (number,) in found]

    def find(self, name: str) -> StoredDocument | None:
        """Returns the document with this name (the name that events show); None if there is no such document."""
        rows = self._rows("SELECT id FROM document WHERE name = ?", name)
        return next(iter(self.documents([number for (number,) in rows])), None)

    def digests(self) -> list[tuple[int, bytes]]:
        """Returns (id, digest of title, text and marks) of each document, in the order of the ids."""
        found = self._rows("SELECT id, digest FROM document ORDER BY id")
        is_sound = all(isinstance(digest, bytes) and len(digest) == documents_db.DIGEST_BYTES for _, digest in found)
        self._check(is_sound, "a digest is missing")
        return found

    def entries(self) -> list[DocumentEntry]:
        """Returns an entry for each document, in the order of the ids. Damaged documents are included."""
        found = self._rows(
            "SELECT document.id, CAST(title AS BLOB), CAST(name AS BLOB), CAST(path AS BLOB), length(text), "
            f"CAST(marks AS BLOB) FROM {_DOCUMENTS} ORDER BY document.id"
        )
        return [
            DocumentEntry(number, _text(title), _text(name), _text(path), int(chars or 0), _pages(marks))
            for number, title, name, path, chars, marks in found
        ]

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Returns the documents with these ids, in this order; skips unknown ids. Damage raises LibraryError."""
        found: dict[int, StoredDocument] = {}
        for number in dict.fromkeys(ids):
            rows = self._rows(
                "SELECT title, text, marks, document.digest, name, path, mtime_ns, size, stamp, source.digest "
                f"FROM {_DOCUMENTS} WHERE document.id = ?", number,
            )  # fmt: skip
            for title, text, marks, digest, name, path, *state in rows:
                is_sound = all(isinstance(one, str) for one in (title, name, path)) and name.startswith(title)
                is_sound = is_sound and re.fullmatch(r"( \(\d+\))?", name[len(title) :]) is not None  # "title (2)"
                is_sound = is_sound and documents_db.document_digest(title, text, marks) == digest
                self._check(is_sound, f"document {number} is not what was written")
                document = Document(name, text, documents_db.marks_of(marks), Path(path), title=title)
                found[number] = StoredDocument(number, title, document, digest, FileState(*state))
        return [found[number] for number in ids if number in found]

    def search(self, query: str, most: int) -> list[Hit]:
        """Returns up to ``most`` passages with words of a query, best BM25 score first (Robertson, Zaragoza 2009)."""
        expression = any_of_its_words(query)
        if expression is None:
            return []
        rows = self._rows(
            "SELECT document, start, end, passage.id, sum, -score FROM "
            f"(SELECT rowid, bm25(words, {TITLE_WEIGHT}, 1.0) AS score FROM words "
            "WHERE words MATCH ? ORDER BY score LIMIT ?) AS best "
            "JOIN passage ON passage.id = best.rowid ORDER BY score, best.rowid", expression, most,
        )  # fmt: skip
        is_sound = all(documents_db.passage_sum(*row[:4]) == row[4] for row in rows)
        self._check(is_sound, "a passage is not what was written")
        return [Hit(row[0], row[1], row[2], row[5]) for row in rows]

    def removed_documents(self) -> list[RemovedDocument]:
        """Returns the documents that can be restored, the last removed ones first."""
        absent = "path NOT IN (SELECT path FROM source)"  # a file that is in the library again needs no restoring
        query = f"SELECT path, name, title, length(text), at FROM removed WHERE at >= ? AND {absent}"
        return [RemovedDocument(*row) for row in self._rows(f"{query} ORDER BY at DESC, id", documents_db.oldest())]

    # Changes

    def add_root(self, path: Path) -> None:
        """Stores the path of an added file or folder, so that `sync` compares the library with it."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO root VALUES (?)", (str(path),))

    def put(self, path: str, documents: Iterable[tuple[str, Document]], state: FileState | None = None) -> int:
        """Replaces a file's documents with (title, document) pairs; returns their number. ``state`` may be unknown."""
        with self._write() as db:
            return documents_db.replace_documents(db, path, state or FileState(), documents, restored=False)

    def move(self, path: str, new: str, state: FileState) -> None:
        """Records that the file ``path`` is now at ``new``, with ``state`` and unchanged bytes; keeps its documents."""
        with self._write() as db:
            db.execute(
                "UPDATE source SET path = ?, mtime_ns = ?, stamp = ? WHERE path = ?",
                (new, state.mtime_ns, state.stamp, path),
            )

    def remove(self, path: str, *, keep: bool = False) -> bool:
        """Removes a file from the library; returns whether it was there. ``keep`` allows `restore` for `DAYS` days."""
        with self._write() as db:
            db.execute("DELETE FROM root WHERE path = ?", (path,))
            return documents_db.delete_documents(db, path, keep=keep)

    def restore(self, path: str) -> int:
        """Restores a removed file's documents; returns their number. Later syncs keep them without the file."""
        with self._write() as db:
            state, documents = documents_db.removed_texts(db, path)
            return documents_db.replace_documents(db, path, state, documents, restored=True) if documents else 0

    # Connections

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._read() as db:
            return db.execute(query, values).fetchall()

    def _check(self, is_sound: bool, damage: str) -> None:
        """Raises LibraryError with the message ``damage``, unless ``is_sound``."""
        if not is_sound:
            with self._library_errors():
                raise sqlite3.DatabaseError(damage)

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._library_errors(), connected(self._path, create=False) as db:
            yield db

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._library_errors(), transaction(self._path, create=False) as db:
            db.create_function("searchable", 1, searchable, deterministic=True)
            db.create_function("heading", 2, lambda *of: searchable(with_file_name(*of)), deterministic=True)
            yield db

    @contextmanager
    def _library_errors(self) -> Iterator[None]:
        """Converts errors of the disk and of SQLite to LibraryError."""
        try:
            yield
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            hint = "Check the disk, or try again."
            if is_corrupt(error) or re.search("exists|no such", str(error)):
                hint = f"Remove it (wim-edge library remove {self.name}) and add the documents again."
            elif "fts5" in str(error):
                hint = "The SQLite of this Python has no FTS5; use another build of Python."
            # SQLite's message about damaged characters contains the whole text
            what = "a text in it is damaged" if str(error).startswith("Could not decode") else error
            raise LibraryError(f"library {self.name}: {what}", hint) from error


def open_library(name: str) -> Library:
    """Returns the library of this name. Raises LibraryError if the library is missing or has no documents."""
    library = Library(name)
    if not len(library):
        raise LibraryError(f"library {name} holds no documents", f"wim-edge library add --to {name} FILE...")
    return library


def folder_of(name: str, paths: Paths | None = None) -> Path:
    """Returns the folder of a library of this name. Raises InvalidRequestError for a name that is not allowed."""
    if not _NAME.fullmatch(name):
        raise InvalidRequestError(
            f"{name!r} is not a library name",
            "Letters, digits, dots, dashes and underscores, 64 at most, no dot at the end, and no device of Windows.",
        )
    return (paths or Paths.from_environment()).libraries / name


def known_libraries(paths: Paths | None = None) -> list[str]:
    folder = (paths or Paths.from_environment()).libraries
    found = (path.parent.name for path in folder.glob("*/documents.sqlite"))
    return sorted(name for name in found if _NAME.fullmatch(name))


def remove_library(name: str) -> int:
    """Deletes a library (damaged or not) and its indexes from disk; returns the bytes freed. Raises LibraryError."""
    folder = folder_of(name)
    if not folder.is_dir():
        raise LibraryError(f"there is no library {name}", "wim-edge library list")
    freed = size_of(folder)
    try:
        away = folder.with_name(f".{name}-{uuid.uuid4().hex}")  # a rename is atomic, even while others write
        folder.rename(away)
        if away.is_symlink():  # the target of a link is not ours
            away.unlink()
        else:
            shutil.rmtree(away)
    except OSError as error:
        hint = "Close what uses it, or check the disk."
        raise LibraryError(f"library {name}: {error.strerror or error}", hint) from error
    return freed


def size_of(folder: Path) -> int:
    """Returns the total bytes of the files in a folder, such as a library's database, indexes and copies of PDFs."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total


def _text(stored: object) -> str:
    return stored.decode("utf-8", "replace") if isinstance(stored, bytes) else ""


def _pages(marks: bytes) -> int | None:
    """Returns the last page number in a document's marks (JSON); None if there are no pages, or the JSON is damaged."""
    try:
        return max((page for _, page, *_ in json.loads(marks) if page is not None), default=None)
    except (ValueError, TypeError, RecursionError):
        return None
