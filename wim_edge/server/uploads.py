"""The documents that were given to the server: a library of their own, so that `wim-edge library` shows it and all
of them can be asked together."""

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
MOST_CHARS = 64_000_000
"""The most characters of all documents that are asked together."""
_UNUSUAL = re.compile(r"[^\w .()-]")


class Uploads:
    """The documents given to the server. ``folders``: those whose files may be named; ``library``: the one that holds
    them. Safe to use from several threads.

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
        """All documents, with the version of the library that they are of."""

    def upload(self, name: str, data: bytes) -> tuple[StoredDocument, tuple[str, ...]]:
        """Keeps a file that was sent, under its name, and returns it with its notes. The same file is kept once."""
        name = PureWindowsPath(PurePosixPath(well_formed(name)).name).name.strip(" .")
        name = name.encode()[-_NAME_BYTES:].decode(errors="ignore") or "document"  # keeps the ending
        source = f"{_UPLOAD}{hashlib.blake2b(data, digest_size=8).hexdigest()}/{name}"
        known = self._known(source)
        if known:
            return known, self._keep_file(known, data)
        read = document_of(Path(_UNUSUAL.sub("_", name)), data, self._limits)  # as messages name it
        document = replace(read, name=name, path=Path(name))
        kept = self._put(source, document)
        return kept, (*read.notes, *self._keep_file(kept, data))

    def name(self, path: str) -> tuple[StoredDocument, tuple[str, ...]]:
        """Keeps a file of one of the folders, as it is now, and returns it with its notes."""
        found, data = self.folders.read(path)
        document = document_of(found, data, self._limits)
        known = self._known(str(found))
        is_known = known and (known.document.text, known.document.marks) == (document.text, document.marks)
        kept = known if known and is_known else self._put(str(found), document)
        return kept, (*document.notes, *self._keep_file(kept, data))

    def entries(self) -> list[DocumentEntry]:
        """Returns all documents, in the order in which they came, without their texts."""
        version = self._library.version
        if self._entries is None or self._entries[0] != version:  # to count characters SQLite reads all texts
            self._entries = version, self._library.entries()
        return self._entries[1]

    def document(self, number: int) -> StoredDocument:
        """Returns one of the documents, with its text."""
        return self.documents([number])[0]

    def documents(self, numbers: Sequence[int]) -> list[StoredDocument]:
        """Returns these documents, each once."""
        numbers = list(dict.fromkeys(numbers))
        chars = {entry.id: entry.chars for entry in self.entries()} if len(numbers) > 1 else {}
        if sum(chars.get(number, 0) for number in numbers) > MOST_CHARS:
            raise InvalidRequestError(
                f"the documents have more than {MOST_CHARS:,} characters", "Ask fewer of them, or ask a library."
            )
        found = self._library.documents([number for number in numbers if 0 < number < 2**63])
        if len(found) < len(numbers):
            raise _absent(next(number for number in numbers if number not in {kept.id for kept in found}))
        return found

    def remove(self, number: int) -> None:
        kept = self.document(number)
        with self._lock:
            self._library.remove(str(kept.document.path))
        with suppress(OSError):
            self._file_of(number, str(kept.document.path)).unlink(missing_ok=True)

    def pdf(self, number: int) -> Path | None:
        """Returns the PDF that a document was read from, without reading its text; None if it is of another kind."""
        entry = next((entry for entry in self.entries() if entry.id == number), None)
        if entry is None:
            raise _absent(number)
        file = self._file_of(number, entry.path)
        with suppress(OSError), file.open("rb") as kept:
            return file if is_pdf(kept.read(1024)) else None
        return None

    def _file_of(self, number: int, path: str) -> Path:
        return self._files / f"{number}-{hashlib.blake2b(path.encode(), digest_size=8).hexdigest()}.pdf"

    def _keep_file(self, kept: StoredDocument, data: bytes) -> tuple[str, ...]:
        """Keeps the bytes of a PDF beside its text, so that its pages can be shown; returns a note if it cannot."""
        if not is_pdf(data) or all(mark.page is None for mark in kept.document.marks):
            return ()
        file = self._file_of(kept.id, str(kept.document.path))
        try:
            if file.exists():
                return ()
            self._files.mkdir(exist_ok=True)
            with replace_file(file, private=True) as part:
                part.write_bytes(data)
        except OSError as error:
            return (f"its pages cannot be shown as they look: {os_reason(error)}",)
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
            raise LibraryError("the document was removed meanwhile", "Give it again.")
        return known


def _absent(number: int) -> LibraryError:
    return LibraryError(f"there is no document {number}", "GET /api/documents lists those there are.")
