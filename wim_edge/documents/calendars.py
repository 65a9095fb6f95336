"""The reader of calendars, iCalendar files (RFC 5545)."""

from __future__ import annotations

import re

from wim_edge.documents.decode import decode
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.settings import Limits

_PROPERTY = re.compile(r'([\w-]+)((?:;[^:";]*+(?:"[^"]*"[^:";]*+)*+)*+):(.*)', re.S)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d)?")
_EVENTS = ("VEVENT", "VTODO", "VJOURNAL")
_LABELS = {
    "SUMMARY": "Summary", "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration", "RRULE": "Repeats",
    "EXDATE": "Except", "LOCATION": "Place", "STATUS": "Status", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee",
    "DESCRIPTION": "Description",
}  # fmt: skip


def read_calendar(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the events, each a section of labelled lines."""
    text, notes = decode(name, data)
    draft = DocumentBuilder()
    draft.notes.extend(notes)
    within, lines, order = list[str](), list[str](), [*_LABELS.values()]
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
