"""Zip archives (DOCX, EPUB), read in memory and within bounds: nothing is ever extracted to disk."""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib

from wim_edge.documents.limits import DEFAULTS, above, mebibytes
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

_LIST, _LISTED = "[Content_Types].xml", re.compile(rb"""\bPartName=["']/([^"'<>]{1,200})["']""")
# What zipfile raises for damaged members: bad checksums, cut streams, unknown methods
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    KeyError,
    OSError,
    ValueError,
)


class Archive:
    """The members of a zip file. Every error is a DocumentError."""

    def __init__(self, name: str, data: bytes, limits: Limits = DEFAULTS) -> None:
        self._name, self._limits = name, limits
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except DAMAGE:
            raise damaged(name) from None
        members = self._zip.infolist()
        self.names = frozenset(member.filename for member in members)
        if any(member.flag_bits & 1 for member in members):
            raise encrypted(name)
        self._bound(sum(member.file_size for member in members), "document_bytes")
        self._markup = 0

    def bound_markup(self, *endings: str) -> None:
        """Raises DocumentError if the members with these endings are too much to parse."""
        members = self._zip.infolist()
        self._bound(sum(one.file_size for one in members if one.filename.endswith(endings)), "markup_bytes")

    def _bound(self, size: int, limit: str) -> None:
        most: int = getattr(self._limits, limit)
        if size > most:
            raise above(self._name, f"unpacks to {mebibytes(size)}, more than {mebibytes(most)}", limit)

    def read(self, member: str) -> bytes:
        """Returns a member's bytes; zipfile yields no more of them than the archive's directory declares."""
        try:
            self._markup += self._zip.getinfo(member).file_size
            self._bound(self._markup, "markup_bytes")
            return self._zip.read(member)
        except DAMAGE:
            raise damaged(self._name) from None


def well_named(data: bytes) -> bytes:
    """Returns an Office file whose members are called as its own list calls them: capitals make no other name there
    (ECMA-376, part 2), but in what reads it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w") as made:
        names = {one.lower(): one for one in given.namelist()}
        listed = map(bytes.decode, _LISTED.findall(given.read(names[_LIST.lower()])))
        right = {one.lower(): one for one in (_LIST, *listed)}
        if all(right.get(lower, one) == one for lower, one in names.items()):
            return data
        for lower, one in names.items():
            made.writestr(right.get(lower, one), given.read(one))
    return out.getvalue()


def encrypted(name: str) -> DocumentError:
    return DocumentError(f"{name}: encrypted", "Save a copy without a password and read that.")


def damaged(name: str) -> DocumentError:
    return DocumentError(f"{name}: damaged", "Open and save it again in the program it comes from.")
