"""Readers of e-mail (EML, MBOX) with its attachments, and of calendars (iCalendar, RFC 5545)."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from email import policy
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from wim_edge.documents.decode import codec_of, decode, decode_markup, tidy
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.html import add_html
from wim_edge.documents.quotations import Collected, Paragraph, of_plain, under_heads
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

_PEOPLE = ("From", "To", "Cc")
_HEADERS = (*_PEOPLE, "Date", "Subject")
_NAMED = re.compile(r'(?<![^\s,])([^\s,@<>"()]+@[^\s,@<>"()]+)\s*\(([^()"\\]+)\)')
"""An address that is followed by a name, as was usual before RFC 2822: "jo@example.org (Jo Poe)"."""
_BOUNDARY = re.compile(rb"(^content-type:[^\n]*(?:\n[ \t][^\n]*)*?;\s*boundary=)([^\s\";=]*=[^\s\";]*)", re.I | re.M)
"""A boundary that contains "=" and has no quotation marks (Outlook Express): Python's parser stops at the "="."""
_FLOWED = re.compile(r"^(>*)(?!>|-- $).* $(?:\n\1(?!>).* $)*\n\1(?!>).*", re.M)
_MAILS = ("rfc822", "global", "news")
_DEEP = 3  # most levels of nested mails, the outermost included
_ATTACHMENTS = 100  # most attachments read from one file
_MULTIPARTS = 200
"""The most multiparts of a mail. Of a mail with more, only headers are parsed: Python's parser takes quadratic time."""
_HEADER = 20_000  # characters; a longer header stays undecoded: decoding also takes quadratic time
_FROM = re.compile(rb"^From \S.*\d{4}\s*?\n", re.MULTILINE)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_PROPERTY = re.compile(r'([\w-]+)((?:;[^:";]*+(?:"[^"]*"[^:";]*+)*+)*+):(.*)', re.S)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d)?")
_EVENTS = ("VEVENT", "VTODO", "VJOURNAL")
_LABELS = {
    "SUMMARY": "Summary", "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration", "RRULE": "Repeats",
    "EXDATE": "Except", "LOCATION": "Place", "STATUS": "Status", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee",
    "DESCRIPTION": "Description", "RECURRENCE-ID": "Instead of", "RDATE": "Also", "CONTACT": "Contact", "URL": "Link",
}  # fmt: skip
_DAMAGE = (MessageError, LookupError, ValueError, AttributeError, TypeError, RecursionError)
"""The errors that Python's e-mail parser raises for malformed headers and parts."""

Read = Callable[[str, bytes], Document]
"""A function that takes an attachment's name and bytes and returns its document, or raises DocumentError."""


def read_mail(name: str, data: bytes, read: Read, limits: Limits) -> Document:
    """Returns the text of a mail, or of all mails in a mailbox, each a section. ``read``: reads an attachment."""
    draft = DocumentBuilder()
    writer = _MailWriter(draft, name, read, limits)
    mails = [_QUOTED_FROM.sub(rb"\1", one) for one in _FROM.split(data)[1:]] if data.startswith(b"From ") else []
    for one in mails or [data]:
        writer.add(one)
    draft.title = Path(name).stem if mails else writer.first
    return draft.document(name)


class _MailWriter:
    def __init__(self, draft: DocumentBuilder, name: str, read: Read, limits: Limits) -> None:
        self._draft, self._name, self._read, self._limits = draft, name, read, limits
        self._left, self._room = _ATTACHMENTS, limits.document_bytes
        self.first = self.subject = self._invitation = ""
        self._people: list[str] = []
        self._words = lru_cache(_MULTIPARTS)(self._words_of)

    def add(self, data: bytes) -> None:
        try:
            self._mail(_parsed(data), 0)
        except _DAMAGE as error:
            self._draft.notes.append(f"a mail is damaged, and was read in part ({type(error).__name__})")

    def _mail(self, mail: EmailMessage, depth: int) -> None:
        raw = {key.lower(): str(value) for key, value in reversed(list(mail.raw_items()))}
        headers, people = [], list[str]()
        for key in _HEADERS:
            value: Any = raw.get(key.lower(), "")[:_HEADER]
            value = _NAMED.sub(r'"\2" <\1>', value) if key in _PEOPLE else value
            value = mail.policy.header_fetch_parse(key, value) if 0 < len(value) < _HEADER else value
            headers.append((key, " ".join(str(value).split())))
            with suppress(*_DAMAGE, IndexError):
                people += [one.display_name or one.addr_spec for one in getattr(value, "addresses", ())]
        self.subject = headers[-1][1]
        self.first = self.first or self.subject
        self._people = people
        self._draft.mark(section=self.subject or "mail")
        self._draft.paragraph("\n".join(f"{key}: {value}" for key, value in headers if value))
        body, parts = mail.get_body(("plain", "html")), self._leaves(mail)
        body = body if body in parts else next(filter(_is_text, parts), None)
        if body is not None:
            self._say(body)
        for part in parts:
            if part is not body:
                is_message = part.get_content_maintype() == "message" and part.is_multipart()
                (self._message if is_message else self._attachment)(part, depth)

    def _leaves(self, part: MIMEPart) -> list[MIMEPart]:
        """Returns the leaf parts and attached mails in a part, without signatures. If a text is there as plain text and
        as HTML, keeps the HTML if it has words that the plain text lacks; else keeps the plain text."""
        if part.get_content_maintype() != "multipart" or not part.is_multipart():
            return [part]
        kind = part.get_content_subtype()  # a signature is the second part (RFC 1847)
        leaves = [self._leaves(one) for at, one in enumerate(part.iter_parts()) if kind != "signed" or at != 1]
        if kind == "alternative":
            texts = filter(None, (tuple(filter(_is_text, one)) for one in reversed(leaves)))
            forms = {form[0].get_content_subtype(): form for form in texts}
            plain, rich = (forms.get(kind, ()) for kind in ("plain", "html"))
            shown = {*(rich if not plain or self._words(rich) - self._words(plain) else plain)}
            leaves = [[leaf for leaf in one if leaf in shown or not _is_text(leaf)] for one in leaves]
        return [*chain(*leaves)]

    def _say(self, part: MIMEPart) -> None:
        """Adds the paragraphs of a text part to the draft, with a line "Quoted: …" before each quotation."""
        for one in under_heads(self._paragraphs(part, self._draft), self.subject, self._people):
            self._draft.mark(section=one.section)
            self._draft.paragraph(one.text)

    def _paragraphs(self, part: MIMEPart, draft: DocumentBuilder) -> list[Paragraph]:
        text, notes = _text(part)
        draft.notes += [note for note in notes if note not in draft.notes]
        if part.get_content_subtype() != "html":
            if str(part.get_param("delsp")).lower() == "yes":  # RFC 3676, 4.2
                text = _FLOWED.sub(lambda lines: re.sub(f" \n{lines[1]} ?", "", lines[0]), text)
            return list(of_plain(text))
        collected = Collected(draft)
        add_html(collected, self._name, text, self._limits)
        return collected.found

    def _words_of(self, parts: tuple[MIMEPart, ...]) -> set[str]:
        with suppress(DocumentError):  # HTML nested too deep
            texts = (one.text.casefold() for part in parts for one in self._paragraphs(part, DocumentBuilder()))
            return {word for text in texts for word in re.findall(r"\w+", text)}
        return set()

    def _message(self, part: MIMEPart, depth: int) -> None:
        """Adds to the draft an attached mail, or the fields of a delivery or read report (RFC 3464, RFC 8098)."""
        blocks: Any = part.get_payload()
        if part.get_content_subtype() not in _MAILS:
            self._draft.mark(section=self.subject or "mail")
            for block in blocks:
                fields = [f"{key}: {value}" for key, value in block.raw_items()]
                self._draft.paragraph("\n".join([*fields, *filter(None, [_text(block)[0]])]))
        elif depth + 1 < _DEEP:
            if part["content-transfer-encoding"] == "base64" and not blocks[0].keys():
                blocks[0]["Content-Transfer-Encoding"] = "base64"
                blocks = [_parsed(blocks[0].get_payload(decode=True))]
            self._mail(blocks[0], depth + 1)
        else:
            note = "a mail that is attached to an attached one was not read"
            self._draft.notes += [note] if note not in self._draft.notes else []

    def _attachment(self, part: MIMEPart, depth: int) -> None:
        name = " ".join((part.get_filename() or "").split())
        name = name or "calendar.ics" * (part.get_content_type() == "text/calendar")
        data = part.get_payload(decode=True)
        # The text after an inline picture, a mailing list's footer, or parts without a boundary
        if not name and part.get_content_maintype() in ("text", "multipart"):
            self._draft.mark(section=self.subject or "mail")
            self._say(part)
        if not name or not isinstance(data, bytes):
            return
        self._left -= 1
        if self._left < 0 or self._room <= 0:
            self._draft.notes.append(f"attachment {name}: not read, as there are many")
            return
        try:
            found = self._read(name, data)
        except DocumentError as error:
            self._draft.notes.append(f"attachment {error}")
            return
        is_calendar = name.lower().endswith(".ics")
        if is_calendar and found.text == self._invitation:  # often attached, too
            return
        self._invitation = found.text if is_calendar else self._invitation
        self._room -= len(found.text)
        self._draft.mark(section=name)
        self._draft.paragraph(found.text, [(mark.start, mark.section) for mark in found.marks if mark.section])


def _parsed(data: bytes) -> EmailMessage:
    is_odd = data.lower().count(b"multipart/") > _MULTIPARTS
    return BytesParser(policy=policy.default).parsebytes(_BOUNDARY.sub(rb'\1"\2"', data), headersonly=is_odd)


def _is_text(part: MIMEPart) -> bool:
    """Returns whether a part is text of the mail itself: neither an attached file nor a calendar invitation."""
    is_file = bool(part.get_filename()) or part.get_content_subtype() == "calendar"
    return part.get_content_maintype() == "text" and not is_file


def _text(part: MIMEPart) -> tuple[str, tuple[str, ...]]:
    """Returns (text, notes) of a mail's part. Detects the encoding if the part states none, US-ASCII or UTF-8."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return "", ()
    stated = str(part.get_content_charset() or "")
    codec = "utf-7" if stated == "utf-7" else codec_of(stated)
    if codec in ("", "ascii", "utf-8"):
        with suppress(DocumentError):  # binary
            return (decode_markup if part.get_content_subtype() == "html" else decode)("", data)
    return tidy(data.decode(codec or "utf-8", "replace")), ()


def read_calendar(name: str, data: bytes, limits: Limits) -> Document:
    """Returns a calendar's text: a section for each event, task or journal entry, with lines "Label: value"."""
    text, notes = decode(name, data)
    draft = DocumentBuilder(notes)
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
            if key == "DTEND" and re.fullmatch(r"\d{8}", value):  # the first day after the event
                with suppress(ValueError):
                    value = f"{datetime.strptime(value, '%Y%m%d') - timedelta(1):%Y%m%d}"
            said = _DATE.sub(lambda one: f"{one[1]}-{one[2]}-{one[3]}{f' {one[4]}:{one[5]}' * bool(one[4])}", value)
            zone = re.search(r";TZID=([^;]+)", parameters, re.IGNORECASE)
            who = re.search(r';CN="?([^";]+)', parameters, re.IGNORECASE)
            said = f"{said} ({zone[1]})" if zone else said.removesuffix("Z") + " (UTC)" if value.endswith("Z") else said
            comes = re.search(r";PARTSTAT=(accepted|declined|tentative)", parameters, re.IGNORECASE)
            said = f"{who[1] if who else said.removeprefix('mailto:')}{f' ({comes[1].lower()})' if comes else ''}"
            lines.append(f"{_LABELS[key]}: {said}")
    return draft.document(name)
