"""The reader of EPUB: the HTML reader reads each chapter, in reading order."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from wim_edge.documents.archive import Archive, damaged
from wim_edge.documents.decode import decode_markup
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.html import add_html
from wim_edge.errors import DocumentError

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_SHEET = re.compile(
    r"""<(?:link|\?xml-s)(?![^<>]*\bprint\b)[^<>]*?\shref\s*=\s*["']([^<>"']+\.css)["']"""
    r"""|@import\s+(?:url\(\s*)?["']?([^<>"'();]{1,200}\.css)["']?[\s)]*+(?![^;]{0,200}\bprint\b)""", re.I,
)  # fmt: skip
_IMPORTS = 4  # most levels of style sheets that import others, which stand before them
_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_epub(archive: Archive) -> Document:
    """Returns an EPUB book's text, with headings as sections. Raises DocumentError if it is encrypted or damaged."""
    draft, name = DocumentBuilder(), archive.name
    root = next((str(one.get("full-path", "")) for one in _tags(archive, CONTAINER, "rootfile")), "")
    known = [tag for tag in _tags(archive, root, "item") if tag.get("media-type") in _CHAPTERS] if root else []
    items = {tag.get("id"): _member(root, tag.get("href", "")) for tag in known}
    spine = (tag.get("idref") for tag in _tags(archive, root, "itemref")) if root else ()
    chapters = list(dict.fromkeys(items[idref] for idref in spine if idref in items))  # in the order of the spine
    if not chapters:
        raise damaged(name)
    locked = _tags(archive, _ENCRYPTION, "CipherReference") if _ENCRYPTION in archive.names else ()
    if not {_member("", one.get("URI", "")) for one in locked}.isdisjoint(chapters):
        how = "Read a copy that is free of it, if you have one."
        raise DocumentError(f"{name}: encrypted by digital rights management", how)
    sheets = {one: archive.read(one).decode("utf-8", "replace") for one in archive.names if one.endswith(".css")}
    for number, chapter in enumerate(chapters, start=1):
        if chapter not in archive.names:
            draft.notes.append(f"chapter {number} is missing")
            continue
        markup, notes = decode_markup(name, archive.read(chapter))
        draft.notes.extend(f"chapter {number}: {note}" for note in notes)
        draft.mark(section=f"chapter {number}")
        add_html(draft, name, markup, archive.limits, _css(chapter, markup, sheets))
    draft.title = archive.title(root)
    return draft.document(name)


def _css(member: str, text: str, sheets: Mapping[str, str]) -> str:
    """Returns the text of the style sheets that a chapter links or imports. ``sheets``: all texts by member name."""
    found, new = dict[str, str](), [(member, text)]
    for _ in range(_IMPORTS):
        named = [_member(base, "".join(href)) for base, css in new for href in _SHEET.findall(css)]
        new = [(one, sheets[one]) for one in dict.fromkeys(named) if one in sheets and one not in found]
        found = dict(new) | found
    return "\n".join(found.values())


def _member(base: str, href: str) -> str:
    """Returns the name of the member, which may not exist, to which ``href`` in the member ``base`` refers."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _tags(archive: Archive, member: str, local: str) -> Iterator[Any]:
    yield from archive.root(member, recover=True).iter("{*}" + local)
