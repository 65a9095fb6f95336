"""Zip archives (DOCX, EPUB), read in memory and within bounds: nothing is ever extracted to disk."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

from wim_edge.errors import DocumentError

MAX_BYTES = 512 * 2**20
"""Of all members together, unpacked."""
MAX_MARKUP_BYTES = 64 * 2**20
"""Of the members that are parsed."""

# What zipfile raises for damaged members: bad checksums, cut streams, unknown methods.
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

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except DAMAGE:
            raise damaged(name) from None
        members = self._zip.infolist()
        self.names = frozenset(member.filename for member in members)
        if any(member.flag_bits & 1 for member in members):
            raise DocumentError(f"{name}: encrypted", "Save a copy without a password and read that.")
        self.bound(sum(member.file_size for member in members), MAX_BYTES)
        self._markup = 0

    def bound(self, size: int, limit: int) -> None:
        """Raise DocumentError where ``size`` bytes are over the limit."""
        if size > limit:
            raise DocumentError(
                f"{self._name}: unpacks to {size / 2**20:,.0f} MiB, more than {limit // 2**20}",
                "Split it, or save it as plain text.",
            )

    def size(self, *endings: str) -> int:
        """Bytes, unpacked, of the members whose names end so."""
        return sum(member.file_size for member in self._zip.infolist() if member.filename.endswith(endings))

    def read(self, member: str) -> bytes:
        """A member's bytes; zipfile yields no more of them than the archive's directory declares."""
        try:
            self._markup += self._zip.getinfo(member).file_size
            self.bound(self._markup, MAX_MARKUP_BYTES)
            return self._zip.read(member)
        except DAMAGE:
            raise damaged(self._name) from None


def damaged(name: str) -> DocumentError:
    return DocumentError(f"{name}: damaged", "Open and save it again in the program it comes from.")
