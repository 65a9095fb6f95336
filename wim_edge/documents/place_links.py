"""Addresses that open a document at a place: a page of a PDF, a line in an editor, cells of a sheet."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from wim_edge.documents.document import Place
from wim_edge.documents.formats import PDF, XLSX

_ODS = ".ods"
_PLAIN = re.compile(r"\w+")


def opens(path: Path, place: Place) -> str:
    """Returns what opens a file at a place: "report.pdf#page=12", "notes.md:14", "prices.xlsx#'Spring 25'!A7:D7"; its
    path alone where nothing leads further."""
    ending = path.suffix.lower()
    if ending in PDF.endings and place.page is not None:
        return f"{path}#page={place.page}"
    if ending in (*XLSX.endings, _ODS) and place.section:
        sheet = place.section if _PLAIN.fullmatch(place.section) else "'" + place.section.replace("'", "''") + "'"
        return f"{path}#{sheet}{'.' if ending == _ODS else '!'}{place.cells or f'A{place.row or 1}'}"
    line = place.line or place.row
    return f"{path}:{line}" if line else str(path)


def page_text(page: int, label: str | None) -> str:
    """Returns a page in the form for a person: "page 12"; "page 5, 9th in the file" where another number is printed."""
    if label is None:
        return f"page {page}"
    ending = "th" if page % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(page % 10, "th")
    return f"page {label}, {page}{ending} in the file"


def link(opened: str, path: str) -> str:
    """Returns the file: address for what `opens` returned of a path; a line is no part of it."""
    _, _, fragment = opened.removeprefix(path).partition("#")
    return Path(path).absolute().as_uri() + (f"#{quote(fragment, safe='=!:')}" if fragment else "")
