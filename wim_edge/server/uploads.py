"""Stores the documents of a shelf (uploads, and files of allowed folders) in a library that `wim-edge library` lists
too. No link can lead out of the folders, even one that appears while its file is opened (except on Windows)."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from stat import S_ISREG

from pydantic import BaseModel, Field

from wim_edge.documents import Document, document_of
from wim_edge.documents.document import title_of, well_formed
from wim_edge.documents.formats import is_pdf
from wim_edge.errors import DocumentError, InvalidRequestError, LibraryError
from wim_edge.library.documents_db import FileState
from wim_edge.library.ingest import files_of
from wim_edge.library.library import DocumentEntry, Library, StoredDocument
from wim_edge.library.reading_store import os_reason
from wim_edge.settings import Limits
from wim_edge.system.atomic_files import replace_file

MAX_BYTES = 64 * 1024**2
MAX_FILES = 1000  # in a list
_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")
LIBRARY = "given"
_UPLOAD = "upload:"
_NAME_BYTES = 255  # as file systems allow
MAX_CHARS = 64_000_000
"""The most characters that several documents of one question may have together."""
_UNUSUAL = re.compile(r"[^\w .,;&+'’!()\[\]-]")


class FileView(BaseModel):
    path: str = Field(description="As POST /api/documents/named takes it.")
    folder: str = Field(description="The folder that was named when the server was started.")
    name: str = Field(description="Its path in that folder.")


def printable(path: Path) -> str:
    """Returns a path as text that is valid in JSON and unique: bytes that are not UTF-8 become escapes (``\\xfc``)."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _readings(path: str) -> tuple[str, str]:
    """Returns the two paths that a text may mean: the text itself, and the path that `printable` shows as this text."""
    return path, os.fsdecode(_ESCAPED_BYTE.sub(lambda found: bytes([int(found[1], 16)]), path.encode()))


class AllowedFolders:
    """The folders whose files a request may name. Links that lead out of the folders are not followed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self.paths = [printable(folder) for folder in self._folders]

    def files(self, within: str = "") -> list[FileView]:
        """Returns at most 1,000 files of known formats. ``within``: a folder that must contain the files (its path, or
        its path in an allowed folder); empty: the files of all folders."""
        found = (
            FileView(path=printable(file), folder=printable(folder), name=printable(file.relative_to(folder)))
            for folder in self._folders for file in files_of(folder)
            if isinstance(file, Path) and (not within or any(folder / one in file.parents for one in _readings(within)))
        )  # fmt: skip
        return list(islice(found, MAX_FILES))

    def read(self, path: str) -> tuple[Path, bytes]:
        """Returns (a file's real path as `printable` shows it, its bytes). ``path``: absolute, or relative to a folder.
        Raises InvalidRequestError, the same for a missing file as for one outside; DocumentError above `MAX_BYTES`."""
        for folder, named in ((folder, named) for folder in self._folders for named in _readings(path)):
            with suppress(OSError, ValueError, RuntimeError):  # absent, outside, contains NUL, a circle of links
                found = (folder / named).resolve(strict=True)  # an absolute path replaces the folder
                with os.fdopen(_opened(folder, found.relative_to(folder)), "rb") as file:
                    if S_ISREG(os.fstat(file.fileno()).st_mode):
                        data = file.read(MAX_BYTES + 1)
                        break
        else:
            folders = ", ".join(self.paths) or "none were named"
            raise InvalidRequestError("the path is no file of a folder that may be read", f"Folders: {folders}.")
        if len(data) > MAX_BYTES:
            raise DocumentError(f"{found.name}: larger than {MAX_BYTES >> 20} MiB", "Split it and read the parts.")
        return Path(printable(found)), data


def _opened(folder: Path, inside: Path) -> int:
    """Opens ``folder / inside`` to read, and returns the file descriptor. Except on Windows, raises OSError for a link,
    even one that appeared after the path was resolved, and does not wait for a pipe that has replaced the file."""
    if sys.platform == "win32":
        return os.open(folder / inside, os.O_RDONLY | os.O_BINARY)
    else:  # noqa: RET505  # mypy needs the branch to tell the systems apart
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in inside.parts[:-1]:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
                os.close(at)
                at = below
            name = inside.name or "."
            return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        finally:
            os.close(at)


class Uploads:
    """The documents of a shelf: uploads, and files of ``folders``, stored in the library ``library``. Thread-safe.
    Methods raise LibraryError, DocumentError, and InvalidRequestError for a file that may not be read."""

    def __init__(self, folders: AllowedFolders, limits: Limits, library: str = LIBRARY) -> None:
        self.folders, self._limits = folders, limits
        self._lock = threading.Lock()
        self._library = Library(library, create=True)
        self.folder = self._library.folder
        self._files = self.folder / "files"
        self._sweep()
        self._entries: tuple[str, list[DocumentEntry]] | None = None
        """The pair (version of the library, its documents at this version); None: they are not loaded yet."""

    def upload(self, name: str, data: bytes) -> tuple[StoredDocument, tuple[str, ...]]:
        """Stores an uploaded file, unless it is stored already. Returns (document, notes on its missing parts)."""
        name = PureWindowsPath(PurePosixPath(well_formed(name)).name).name.strip(" .")
        name = name.encode()[-_NAME_BYTES:].decode(errors="ignore") or "document"  # keeps the ending
        source = f"{_UPLOAD}{digest_of(data)}/{name}"
        known = self._known(source)
        if known:
            return known, self._keep_pdf(known, data)
        read = document_of(Path(_UNUSUAL.sub("_", name)), data, self._limits)  # error messages contain this name
        kept = self._put(source, replace(read, name=name, path=Path(name)))
        return kept, (*read.notes, *self._keep_pdf(kept, data))

    def name(self, path: str) -> tuple[StoredDocument, tuple[str, ...]]:
        """Stores an allowed file's current content as a document. Returns (document, notes on its missing parts)."""
        found, data = self.folders.read(path)
        document = document_of(found, data, self._limits)
        known = self._known(str(found))
        is_known = known and (known.document.text, known.document.marks) == (document.text, document.marks)
        kept = known if known and is_known else self._put(str(found), document)
        return kept, (*document.notes, *self._keep_pdf(kept, data))

    def entries(self) -> list[DocumentEntry]:
        """Returns all documents without their texts, in the order in which they were added."""
        version = self._library.version
        if self._entries is None or self._entries[0] != version:  # SQLite reads all texts to count characters
            self._entries = version, self._library.entries()
        return self._entries[1]

    def document(self, number: int) -> StoredDocument:
        return self.documents([number])[0]

    def documents(self, numbers: Sequence[int]) -> list[StoredDocument]:
        """Returns the documents with these ids, each once, with their texts."""
        numbers = list(dict.fromkeys(numbers))
        chars = {entry.id: entry.chars for entry in self.entries()} if len(numbers) > 1 else {}
        if sum(chars.get(number, 0) for number in numbers) > MAX_CHARS:
            raise InvalidRequestError(
                f"the documents have more than {MAX_CHARS:,} characters", "Ask fewer of them, or ask a library."
            )
        found = self._library.documents([number for number in numbers if 0 < number < 2**63])
        if absent := set(numbers) - {kept.id for kept in found}:
            raise _absent(min(absent))
        return found

    def remove(self, number: int) -> Path:
        """Removes a document and the stored copy of its PDF from the disk; returns the path of the document's file."""
        path = str(self.document(number).document.path)
        with self._lock:
            self._library.remove(path)
        with suppress(OSError):
            self._file_of(number, path).unlink(missing_ok=True)
        return Path(path)

    def pdf(self, number: int) -> Path | None:
        """Returns the path of the stored copy of a document's PDF, or None. Does not load the document's text."""
        entry = next((entry for entry in self.entries() if entry.id == number), None)
        if entry is None:
            raise _absent(number)
        file = self._file_of(number, entry.path)
        with suppress(OSError), file.open("rb") as kept:
            return file if is_pdf(kept.read(1024)) else None
        return None

    def _file_of(self, number: int, path: str) -> Path:
        return self._files / f"{number}-{digest_of(path.encode())}.pdf"

    def _keep_pdf(self, kept: StoredDocument, data: bytes) -> tuple[str, ...]:
        """Stores ``data`` if it is a PDF, so that its pages can be shown. Returns a note if the disk fails, else ()."""
        file = self._file_of(kept.id, str(kept.document.path))
        if not is_pdf(data) or all(mark.page is None for mark in kept.document.marks) or file.exists():
            return ()
        try:
            self._files.mkdir(exist_ok=True)
            with replace_file(file, private=True) as part:
                part.write_bytes(data)
        except OSError as error:
            return (f"its pages cannot be shown as images: {os_reason(error)}",)
        return ()

    def _sweep(self) -> None:
        """Deletes the copies of PDFs whose documents `wim-edge library remove` or another program has removed."""
        there = {str(number) for number, _ in self._library.digests()}
        with suppress(OSError):
            for file in self._files.glob("*.pdf"):
                if file.name.partition("-")[0] not in there:
                    file.unlink(missing_ok=True)

    def _known(self, source: str) -> StoredDocument | None:
        return next(iter(self._library.documents(self._library.documents_of(source)[:1])), None)

    def _put(self, source: str, document: Document) -> StoredDocument:
        with self._lock:
            self._library.put(source, [(title_of(document), document)], FileState(size=len(document.text)))
        known = self._known(source)
        if known is None:
            raise LibraryError("the document was removed meanwhile", "Upload it again.")
        return known


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _absent(number: int) -> LibraryError:
    return LibraryError(f"there is no document {number}", "GET /api/documents lists them.")
