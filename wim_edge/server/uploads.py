"""The documents of a shelf: a library of their own, which `wim-edge library` shows too."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from wim_edge.documents import Document, document_of
from wim_edge.documents.document import title_of, well_formed
from wim_edge.documents.formats import is_pdf
from wim_edge.documents.limits import DEFAULTS
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.library import DocumentEntry, Library, StoredDocument
from wim_edge.library.reading_store import os_reason
from wim_edge.server.allowed_files import AllowedFolders
from wim_edge.settings import Limits
from wim_edge.system.atomic_files import replace_file

LIBRARY = "given"
_UPLOAD = "upload:"
_NAME_BYTES = 255  # as file systems allow
MAX_CHARS = 64_000_000
"""The most characters of the documents of one question."""
_UNUSUAL = re.compile(r"[^\w .()-]")


class Uploads:
    """The uploaded documents, and those from ``folders``. ``library``: the library that holds them. Safe to use from
    several threads.

    Raises LibraryError, DocumentError; InvalidRequestError for a file that may not be read.
    """

    def __init__(
        self, folders: AllowedFolders | None = None, limits: Limits = DEFAULTS, library: str = LIBRARY
    ) -> None:
        self.folders = folders or AllowedFolders(())
        self._limits = limits
        self._lock = threading.Lock()
        self._library = Library(library, create=True)
        self.folder = self._library.folder
        self._files = self.folder / "files"
        self._sweep()
        self._entries: tuple[str, list[DocumentEntry]] | None = None
        """All documents, with the version of the library that they are from."""

    def upload(self, name: str, data: bytes) -> tuple[StoredDocument, tuple[str, ...]]:
        """Keeps an uploaded file under its name, and returns it with its notes. The same file is kept once."""
        name = PureWindowsPath(PurePosixPath(well_formed(name)).name).name.strip(" .")
        name = name.encode()[-_NAME_BYTES:].decode(errors="ignore") or "document"  # keeps the ending
        source = f"{_UPLOAD}{_digest(data)}/{name}"
        known = self._known(source)
        if known:
            return known, self._keep_pdf(known, data)
        read = document_of(Path(_UNUSUAL.sub("_", name)), data, self._limits)  # the name in messages
        kept = self._put(source, replace(read, name=name, path=Path(name)))
        return kept, (*read.notes, *self._keep_pdf(kept, data))

    def name(self, path: str) -> tuple[StoredDocument, tuple[str, ...]]:
        """Keeps a file of one of the folders, as it is now, and returns it with its notes."""
        found, data = self.folders.read(path)
        document = document_of(found, data, self._limits)
        known = self._known(str(found))
        is_known = known and (known.document.text, known.document.marks) == (document.text, document.marks)
        kept = known if known and is_known else self._put(str(found), document)
        return kept, (*document.notes, *self._keep_pdf(kept, data))

    def entries(self) -> list[DocumentEntry]:
        """Returns all documents, in the order in which they came, without their texts."""
        version = self._library.version
        if self._entries is None or self._entries[0] != version:  # SQLite reads all texts to count characters
            self._entries = version, self._library.entries()
        return self._entries[1]

    def document(self, number: int) -> StoredDocument:
        """Returns a document, with its text."""
        return self.documents([number])[0]

    def documents(self, numbers: Sequence[int]) -> list[StoredDocument]:
        """Returns these documents, each once."""
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

    def remove(self, number: int) -> None:
        path = str(self.document(number).document.path)
        with self._lock:
            self._library.remove(path)
        with suppress(OSError):
            self._file_of(number, path).unlink(missing_ok=True)

    def pdf(self, number: int) -> Path | None:
        """Returns the PDF of a document, without reading its text; None for another kind of file."""
        entry = next((entry for entry in self.entries() if entry.id == number), None)
        if entry is None:
            raise _absent(number)
        file = self._file_of(number, entry.path)
        with suppress(OSError), file.open("rb") as kept:
            return file if is_pdf(kept.read(1024)) else None
        return None

    def _file_of(self, number: int, path: str) -> Path:
        return self._files / f"{number}-{_digest(path.encode())}.pdf"

    def _keep_pdf(self, kept: StoredDocument, data: bytes) -> tuple[str, ...]:
        """Keeps the bytes of a PDF, so that its pages can be shown, and returns a note if that fails."""
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
        """Removes the files of documents that were removed elsewhere, as by `wim-edge library`."""
        there = {str(number) for number, _ in self._library.digests()}
        with suppress(OSError):
            for file in self._files.glob("*.pdf"):
                if file.name.partition("-")[0] not in there:
                    file.unlink(missing_ok=True)

    def _known(self, source: str) -> StoredDocument | None:
        return next(iter(self._library.documents(self._library.documents_of(source)[:1])), None)

    def _put(self, source: str, document: Document) -> StoredDocument:
        with self._lock:
            self._library.put(source, 0, len(document.text), [(title_of(document), document)])
        known = self._known(source)
        if known is None:
            raise LibraryError("the document was removed meanwhile", "Upload it again.")
        return known


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _absent(number: int) -> LibraryError:
    return LibraryError(f"there is no document {number}", "GET /api/documents lists them.")
