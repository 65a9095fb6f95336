"""The readers of plain text: as it stands, as HTML if it is a page's markup under another name, or as a calendar.

Collections of pages and copies of a page's source come as text. A model reads the tags in them as words (half of the
tokens of some tables), and quotes them.
"""

from __future__ import annotations

import re
from collections import Counter

from wim_edge.documents.decode import decode
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
_PROPERTY = re.compile(r'([\w-]+)((?:;[^:";]*+(?:"[^"]*"[^:";]*+)*+)*+):(.*)', re.S)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d)?")
_EVENTS = ("VEVENT", "VTODO", "VJOURNAL")
_LABELS = {
    "SUMMARY": "Summary", "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration", "RRULE": "Repeats",
    "EXDATE": "Except", "LOCATION": "Place", "STATUS": "Status", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee",
    "DESCRIPTION": "Description",
}  # fmt: skip
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


def read_calendar(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the events of an iCalendar file (RFC 5545), each a section of labelled lines."""
    text, notes = decode(name, data)
    draft = DocumentBuilder()
    draft.notes.extend(notes)
    within: list[str] = []
    lines: list[str] = []
    order = [*_LABELS.values()]
    for found in map(_PROPERTY.fullmatch, re.sub(r"\n[ \t]", "", text).split("\n")):
        key, parameters, value = found.groups() if found else ("", "", "")
        key, value = key.upper(), re.sub(r"\\([\\,;nN])", lambda one: "\n" if one[1] in "nN" else one[1], value).strip()
        if key == "BEGIN":
            within.append(value.upper())
            lines = lines if within[-1] not in _EVENTS else []
        elif key == "END" and within:
            if within.pop() in _EVENTS:
                lines.sort(key=lambda line: order.index(line.partition(":")[0]))
                draft.mark(section=lines[0].partition(": ")[2] if lines else None)
                draft.paragraph("\n".join(lines))
        elif key == "X-WR-CALNAME":
            draft.title = value
        elif key in _LABELS and value and within[-1:] and within[-1] in _EVENTS:
            said = _DATE.sub(lambda one: f"{one[1]}-{one[2]}-{one[3]}{f' {one[4]}:{one[5]}' * bool(one[4])}", value)
            zone = re.search(r";TZID=([^;]+)", parameters, re.IGNORECASE)
            who = re.search(r';CN="?([^";]+)', parameters, re.IGNORECASE)
            said = f"{said} ({zone[1]})" if zone else said.removesuffix("Z") + " (UTC)" if value.endswith("Z") else said
            lines.append(f"{_LABELS[key]}: {who[1] if who else said.removeprefix('mailto:')}")
    return draft.document(name)
