"""The documents that were given to the server: a library of their own, so that `wim-edge library` shows it and all
of them can be asked together."""

from __future__ import annotations

import hashlib
import re
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from wim_edge.documents import Document, read_document
from wim_edge.documents.document import well_formed
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.adding import title_of
from wim_edge.library.collection import Collection, Kept

LIBRARY = "given"
_UPLOAD = "upload:"
_NAME_CHARS = 60  # a name's bytes, four a character, must not be more than a disk takes
_UNUSUAL = re.compile(r"[^\w .()-]")


class Store:
    """``folders``: those whose files may be named. Safe to use from several threads.

    Raises LibraryError, DocumentError; InvalidRequestError for a file that may not be read.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self._lock = threading.Lock()
        self._collection = Collection(LIBRARY, create=True)
        self.folder = self._collection.folder

    def upload(self, name: str, data: bytes) -> tuple[Kept, tuple[str, ...]]:
        """Keep a file that was sent, under its name, and say what its reading noted. The same one is kept once."""
        name = PureWindowsPath(PurePosixPath(well_formed(name)).name).name.strip(" .")[-_NAME_CHARS:] or "document"
        source = f"{_UPLOAD}{hashlib.blake2b(data, digest_size=8).hexdigest()}/{name}"
        known = self._known(source)
        if known:
            return known, ()
        with tempfile.TemporaryDirectory(prefix="wim-edge-") as folder:
            path = Path(folder, _UNUSUAL.sub("_", name)[-_NAME_CHARS:])  # as messages name it
            path.write_bytes(data)
            read = read_document(path)
        document = replace(read, name=name, path=Path(name))
        return self._put(source, document), read.notes

    def name(self, path: str) -> tuple[Kept, tuple[str, ...]]:
        """Keep a file of one of the folders, as it is now, and say what its reading noted."""
        found = self._allowed(path)
        document = read_document(found)
        known = self._known(str(found))
        if known and (known.document.text, known.document.marks) == (document.text, document.marks):
            return known, document.notes
        return self._put(str(found), document), document.notes

    def documents(self) -> list[Kept]:
        """All, in the order in which they came."""
        return self._collection.documents([number for number, _ in self._collection.digests()])

    def document(self, number: int) -> Kept:
        found = self._collection.documents([number]) if 0 < number < 2**63 else []
        if not found:
            raise LibraryError(f"there is no document {number}", "GET /api/documents lists those there are.")
        return found[0]

    def remove(self, number: int) -> None:
        kept = self.document(number)
        with self._lock:
            self._collection.remove(str(kept.document.path))

    def _allowed(self, path: str) -> Path:
        try:
            found = Path(path).resolve(strict=True)
            readable = found.is_file() and any(found.is_relative_to(folder) for folder in self.folders)
        except (OSError, ValueError, RuntimeError):  # absent, NUL in it, a circle of links
            readable = False
        if not readable:  # the same words whether it is there or not
            folders = ", ".join(map(str, self.folders)) or "none were named"
            raise InvalidRequestError("the path is no file of a folder that may be read", f"Folders: {folders}.")
        return found

    def _known(self, source: str) -> Kept | None:
        return next(iter(self._collection.documents(self._collection.documents_of(source)[:1])), None)

    def _put(self, source: str, document: Document) -> Kept:
        with self._lock:
            self._collection.put(source, 0, len(document.text), [(title_of(document), document)])
        known = self._known(source)
        if known is None:
            raise LibraryError("the document was removed meanwhile", "Give it again.")
        return known
