"""The formats of documents: their names and the endings of their files.

`wim_edge.documents.readers` picks a format's reader: `read_x(name, data, limits) -> Document`, or `read_x(archive)`
for a zip file. A reader notes what it omits. A document without a `title` has the title of its first section."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    name: str
    endings: tuple[str, ...]
    """Only files with these endings are read from a folder. A file given by name is first recognised by content."""
    has_lines: bool = False
    """True if the document's text has the same lines as the file, so that an editor's line numbers match."""


_PROSE = ".txt .text .rst .org .adoc .tex .log .ics"
_CODE = (
    ".c .cc .cfg .cpp .cs .css .go .h .hpp .ini .java .js .json .jsx .kt .lua .php .pl .py .r .rb .rs .sh .sql .swift "
    ".toml .ts .tsx .xml .yaml .yml"
)
TEXT = Format("text", (*_PROSE.split(), *_CODE.split()), has_lines=True)
MARKDOWN = Format("Markdown", (".md", ".markdown"), has_lines=True)
HTML = Format("HTML", (".html", ".htm", ".xhtml"))
PDF = Format("PDF", (".pdf",))
DOCX = Format("DOCX", (".docx",))
XLSX = Format("XLSX", (".xlsx", ".xlsm"))
PPTX = Format("PPTX", (".pptx",))
OPEN_DOCUMENT = Format("OpenDocument", (".odt", ".ods", ".odp"))
RTF = Format("RTF", (".rtf",))
EPUB = Format("EPUB", (".epub",))
DELIMITED = Format("CSV", (".csv", ".tsv"))
MAIL = Format("e-mail", (".eml", ".mbox"))
PICTURE = Format("picture", (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"))
"""Not one of `FORMATS`: most pictures contain no text, so a picture is read only if it is given by name."""
FORMATS = (TEXT, MARKDOWN, HTML, PDF, DOCX, XLSX, PPTX, OPEN_DOCUMENT, RTF, EPUB, DELIMITED, MAIL)

BINARY_ENDINGS = tuple(end for one in (PDF, DOCX, XLSX, PPTX, OPEN_DOCUMENT, EPUB, PICTURE) for end in one.endings)
_FIRST = ", ".join(one.name for one in FORMATS[:-1])
ALL_OF_THEM = f"{_FIRST} and {FORMATS[-1].name}"
ANY_OF_THEM = f"{_FIRST} or {FORMATS[-1].name}"

PICTURE_START = re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|BM.{4}\0\0\0\0|II\*\0|MM\0\*|RIFF.{4}WEBP", re.S)
RTF_START = re.compile(rb"\{\\rtf")
ICS_START = re.compile(rb"(?:\xef\xbb\xbf)?BEGIN:VCALENDAR", re.I)
"""The patterns of the first bytes of pictures, RTF files and calendars."""


def is_pdf(start: bytes) -> bool:
    """Returns whether ``start``, the first bytes of a file, are a PDF's: "%PDF-" is among the first 1,024."""
    return b"%PDF-" in start[:1024]
