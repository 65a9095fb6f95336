"""Zip archives (DOCX, EPUB), read in memory and within the size limits: nothing is extracted to disk.
The parts of an Office file refer to each other by relationships (ECMA-376, part 2). Part names are case-insensitive."""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import struct
import zipfile
import zlib
from functools import cached_property
from typing import Any

from wim_edge.documents.document import check_size, mebibytes, require
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError, KeyError, OSError,
    ValueError,
)  # fmt: skip
"""The errors that zipfile raises for damaged members: bad checksums, truncated streams, unknown compression."""
MALFORMED = (*DAMAGE, AttributeError, TypeError, IndexError, RecursionError, StopIteration, SyntaxError)
"""The errors that a format's reader raises if a member violates the format."""
SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "remove_comments": True}
"""The options of lxml parsers: no entity is expanded, nothing external is loaded, and comments are dropped."""
_STRICT = re.compile(rb"(?<==[\"'])http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
"""``_STRICT`` finds a namespace of strict Office files; ``_TRANSITIONAL`` replaces it by that of usual files."""
_OFF = ("0", "false", "off")
_USUAL = ("word/document.xml", "xl/workbook.xml", "ppt/presentation.xml")


class Archive:
    """An open zip file. Raises DocumentError if the file or a member is damaged, encrypted or above the limits."""

    def __init__(self, name: str, data: bytes, limits: Limits) -> None:
        self.name, self.limits = name, limits
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except DAMAGE:
            raise damaged(name) from None
        members = self._zip.infolist()
        self.names = frozenset(member.filename for member in members)
        self._by_name = {one.lower(): one for one in self.names}
        if any(member.flag_bits & 1 for member in members):
            raise encrypted(name)
        self._bound(sum(member.file_size for member in members), "document_bytes")
        self._markup = 0  # bytes of all members read so far

    @cached_property
    def main(self) -> tuple[str, Any]:
        """The (name, XML root element) of an Office file's main part, such as "word/document.xml"; ("", None) if it is
        missing. Raises DocumentError if the file's XML members have more than ``Limits.markup_bytes`` in all."""
        named = [part for kind, part in self.related("").values() if kind == "officeDocument"]
        part = next((one for one in (*named, *_USUAL) if self.has(one) and one.lower().endswith(".xml")), "")
        if not part:
            return "", None
        markup = [one.file_size for one in self._zip.infolist() if one.filename.endswith((".xml", ".rels"))]
        self._bound(sum(markup), "markup_bytes")
        return part, self.root(part)

    def _bound(self, size: int, limit: str) -> None:
        check_size(self.name, size, self.limits, limit, f"unpacks to {mebibytes(size)}, more than")

    def read(self, member: str) -> bytes:
        """Returns a member's bytes; namespaces of strict Office files become transitional ones. Raises DocumentError if
        the member is damaged, or if the declared sizes of all members read so far exceed ``Limits.markup_bytes``."""
        try:
            member = self._by_name.get(member.lower(), member)
            self._markup += self._zip.getinfo(member).file_size
            self._bound(self._markup, "markup_bytes")
            data = self._zip.read(member)
        except DAMAGE:
            raise damaged(self.name) from None
        return _STRICT.sub(_TRANSITIONAL, data) if b"purl.oclc.org" in data else data

    def root(self, member: str, *, recover: bool = False) -> Any:
        """Returns the root element of a member's XML. Entities are not expanded, and nothing external is loaded. Raises
        SyntaxError or ValueError for invalid XML. With ``recover``, lxml skips most errors."""
        etree = require("lxml.etree", self.name)
        if (root := etree.fromstring(self.read(member), etree.XMLParser(recover=recover, **SAFE))) is None:
            raise damaged(self.name)
        return root

    def has(self, member: str) -> bool:
        return member.lower() in self._by_name

    def related(self, part: str) -> dict[str, tuple[str, str]]:
        """Returns {relationship id: (kind, such as "styles"; member name)} of the parts to which ``part`` refers."""
        folder, _, file = part.rpartition("/")
        relations = posixpath.join(folder, "_rels", f"{file}.rels")
        found = self.root(relations).iterfind("{*}Relationship") if self.has(relations) else ()
        inner = [(one, posixpath.join("/", folder, one.get("Target", "")))
                 for one in found if one.get("TargetMode") != "External"]  # fmt: skip
        return {one.get("Id", ""): (one.get("Type", "").rpartition("/")[2], posixpath.normpath(path).lstrip("/"))
                for one, path in inner}  # fmt: skip

    def title(self, member: str = "docProps/core.xml") -> str:
        """Returns the document's title from ``member``, the XML of the file's properties; "" if there is no title."""
        titles = self.root(member, recover=True).iter("{*}title") if self.has(member) else ()
        return next((one.text for one in titles if one.text), "")


def is_on(switch: Any) -> bool:
    """Returns whether a switch, an XML element, is on. It is off if None, or if its "val" is "0", "false" or "off"."""
    return switch is not None and not any(key.endswith("val") and one in _OFF for key, one in switch.items())


def encrypted(name: str) -> DocumentError:
    return DocumentError(f"{name}: encrypted", "Save a copy without a password and read that.")


def damaged(name: str) -> DocumentError:
    return DocumentError(f"{name}: the file looks damaged", "Open and save it again in the program it comes from.")
