"""Links that open a document at a place: a page of a PDF, a line in an editor, cells of a sheet."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from wim_edge.documents.document import Document, Place
from wim_edge.documents.formats import PDF, XLSX
from wim_edge.documents.segments import PAGE

_ODS = ".ods"
_PLAIN = re.compile(r"\w+")
_NAMED = re.compile(rf"\b(?i:{PAGE}[ns]?)\s+(\w+(?:\.\w+)*)(?:\s?[-–]\s?(\w+))?")


def opens(path: Path, place: Place) -> str:
    """Returns the target that opens a file at a place, such as "report.pdf#page=12", "notes.md:14", "a.xlsx#May!A7"."""
    ending = path.suffix.lower()
    if ending in PDF.endings and place.page is not None:
        return f"{path}#page={place.page}"
    if ending in (*XLSX.endings, _ODS) and place.section:
        sheet = place.section if _PLAIN.fullmatch(place.section) else "'" + place.section.replace("'", "''") + "'"
        return f"{path}#{sheet}{'.' if ending == _ODS else '!'}{place.cells or f'A{place.row or 1}'}"
    line = place.line or place.row
    return f"{path}:{line}" if line else str(path)


def page_text(page: int, label: str | None) -> str:
    """Returns a page number for display: "page 12", or "page 5, 9th in the file" if the page is labelled 5."""
    if label is None:
        return f"page {page}"
    ending = "th" if page % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(page % 10, "th")
    return f"page {label}, {page}{ending} in the file"


def link(opened: str, path: str) -> str:
    """Returns the file: URL for ``opened``, the target that `opens` returned for ``path``. A line number is dropped."""
    _, _, fragment = opened.removeprefix(path).partition("#")
    return Path(path).absolute().as_uri() + (f"#{quote(fragment, safe='=!:')}" if fragment else "")


def with_named_pages(document: Document, question: str) -> Document:
    """Returns the document with ``parts`` set to the pages that a question names ("pages 5-7"), if it names any."""
    marks = [mark for mark in document.marks if mark.page is not None]
    numbers = {mark.page_label or str(mark.page): at for at, mark in reversed([*enumerate(marks)])}
    ends = [*(mark.start for mark in marks[1:]), len(document.text)]
    named: set[int] = set()
    for found in _NAMED.finditer(question):
        first, last = found[1], found[2] or found[1]
        if f"{first}-{last}" in numbers:
            first = last = f"{first}-{last}"
        if first in numbers and last in numbers:
            named.update(range(numbers[first], numbers[last] + 1))
    if not named or document.parts:
        return document
    parts = tuple((marks[at].start, ends[at]) for at in sorted(named))
    be, them = ("are", "them") if len(parts) > 1 else ("is", "it")
    note = f"{len(parts):,} of its {len(marks):,} pages {be} read, as the question names {them}"
    return replace(document, parts=parts, notes=(*document.notes, note))
