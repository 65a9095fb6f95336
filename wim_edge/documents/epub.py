"""The reader of EPUB: its chapters in reading order, each through the HTML reader."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from wim_edge.documents.archive import Archive, damaged
from wim_edge.documents.decode import decode_markup
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.html import add_html
from wim_edge.documents.limits import DEFAULTS
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_epub(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the book's text; a chapter's title and its headings become sections.

    Raises DocumentError where a chapter is under digital rights management.
    """
    archive = Archive(name, data, limits)
    draft = DocumentBuilder()
    chapters = _chapters(name, archive)
    locked = _locked(name, archive)
    if any(chapter in locked for chapter in chapters):
        raise DocumentError(
            f"{name}: encrypted by digital rights management",
            "Read a copy that is free of it, if you have one.",
        )
    for number, chapter in enumerate(chapters, start=1):
        if chapter not in archive.names:
            draft.notes.append(f"chapter {number} is missing")
            continue
        markup, notes = decode_markup(name, archive.read(chapter))
        draft.notes.extend(f"chapter {number}: {note}" for note in notes)
        draft.mark(section=f"chapter {number}")
        add_html(draft, name, markup, limits)
    draft.title = _title(name, archive)
    return draft.document(name)


def _chapters(name: str, archive: Archive) -> list[str]:
    """Returns the archive's names of the chapters, each once, in the order of the book's spine."""
    roots = [str(tag.get("full-path", "")) for tag in _tags(name, archive, CONTAINER, "rootfile")]
    if not roots:
        raise damaged(name)
    items = {
        tag.get("id"): _member(roots[0], tag.get("href", ""))
        for tag in _tags(name, archive, roots[0], "item")
        if tag.get("media-type") in _CHAPTERS
    }
    spine = (tag.get("idref") for tag in _tags(name, archive, roots[0], "itemref"))
    chapters = list(dict.fromkeys(items[idref] for idref in spine if idref in items))
    if not chapters:
        raise damaged(name)
    return chapters


def _title(name: str, archive: Archive) -> str:
    roots = [str(tag.get("full-path", "")) for tag in _tags(name, archive, CONTAINER, "rootfile")]
    return next((tag.text for tag in _tags(name, archive, roots[0], "title") if tag.text), "")


def _locked(name: str, archive: Archive) -> set[str]:
    if _ENCRYPTION not in archive.names:
        return set()
    return {_member("", tag.get("URI", "")) for tag in _tags(name, archive, _ENCRYPTION, "CipherReference")}


def _member(base: str, href: str) -> str:
    """Returns a reference as a name in the archive, where it is only looked up: a path to elsewhere finds nothing."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _tags(name: str, archive: Archive, member: str, local: str) -> Iterator[Any]:
    etree = require("lxml.etree", name)
    # Entities stay unexpanded and nothing is loaded from anywhere.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(archive.read(member), parser)
    except (etree.LxmlError, ValueError):
        raise damaged(name) from None
    if root is None:
        raise damaged(name)
    return (tag for tag in root.iter("{*}" + local))
