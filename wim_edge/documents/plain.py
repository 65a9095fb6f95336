"""The reader of plain text: as it stands, or as HTML if it is a page's markup under another name.

Collections of pages and copies of a page's source come as text. A model reads the tags in them as words (half of the
tokens of some tables), and quotes them.
"""

from __future__ import annotations

import re
from collections import Counter

from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.html import add_html
from wim_edge.documents.limits import DEFAULTS
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

# Those that a text about something else is unlikely to hold in pairs, and many of them
_TAG = re.compile(
    r"<(/?)(p|div|span|table|tr|td|th|ul|ol|li|dl|dt|dd|h[1-6]|section|article|blockquote)(?:[\s_][^<>]*)?>", re.I
)
_GLUED = re.compile(r"(<t[dhr]|<table|<[ou]l|<li|<p)_(?=\w+=)", re.I)
"""A tag glued to its attribute: Natural Questions writes `<Td_colspan="2">`."""
_LEAST = 20  # the fewest tags of markup: fewer may be what the text is about
_APART = 500  # the most characters to a tag


def plain(name: str, text: str, limits: Limits = DEFAULTS, notes: tuple[str, ...] = ()) -> Document:
    """Returns the document; if it is markup, without its tags, with its sections and a note that says so."""
    if not is_markup(text):
        return Document(name, text, notes=notes)
    draft = DocumentBuilder()
    try:
        add_html(draft, name, _GLUED.sub(r"\1 ", text), limits)
    except DocumentError as error:  # the extra is not installed, or it is nested too deep
        draft, notes = DocumentBuilder(), (*notes, f"its text is HTML, and is read with its tags ({error})")
    if draft.empty:
        return Document(name, text, notes=notes)
    draft.notes.extend((*notes, "its text is HTML, and was read as such"))
    return draft.document(name)


def is_markup(text: str) -> bool:
    """Tells whether a text has many tags, most of them HTML's and closed."""
    if text.count("<") < _LEAST:
        return False
    tags = Counter((closing, tag.lower()) for closing, tag in _TAG.findall(text))
    closed = sum(min(n, tags["/", tag]) for (closing, tag), n in tags.items() if not closing)
    return 2 * closed >= max(_LEAST, len(text) / _APART, 0.5 * text.count("<"))
