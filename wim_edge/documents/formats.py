"""The formats of documents: what they are called, and how the names of their files end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    name: str
    endings: tuple[str, ...]
    """The endings by which files of a folder are taken; a file that is named is told by its content first."""
    has_lines: bool = False
    """True if the text has the file's own lines, so that an editor shows what is on line 7."""


TEXT = Format("text", (".txt", ".text", ".rst", ".org", ".adoc", ".tex"), has_lines=True)
MARKDOWN = Format("Markdown", (".md", ".markdown"), has_lines=True)
HTML = Format("HTML", (".html", ".htm", ".xhtml"))
PDF = Format("PDF", (".pdf",))
DOCX = Format("DOCX", (".docx",))
EPUB = Format("EPUB", (".epub",))
FORMATS = (TEXT, MARKDOWN, HTML, PDF, DOCX, EPUB)

_FIRST = ", ".join(one.name for one in FORMATS[:-1])
ALL_OF_THEM = f"{_FIRST} and {FORMATS[-1].name}"
ANY_OF_THEM = f"{_FIRST} or {FORMATS[-1].name}"
