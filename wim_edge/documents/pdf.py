"""The reader of PDF: one stretch of text a page."""

from __future__ import annotations

import re
import threading
from types import ModuleType
from typing import Any

from wim_edge.documents.archive import damaged
from wim_edge.documents.decode import tidy
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS, above
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

_NAMED_PAGES = 5
# PDFium writes one of these for a hyphen that only broke the line.
_BROKEN_WORD = re.compile("[\ufffe\x02]\n?")
# What programs write there for want of a title: the name of a file.
_NO_TITLE = re.compile(r"^(untitled|\w+:(//|blank).*|microsoft \w+ - .*)$|\.(docx?|pptx?|odt|indd|tex|dvi|pdf)$", re.I)
# PDFium is not safe to call from two threads at a time.
PDFIUM = threading.Lock()


def read_pdf(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text layer, with a mark for each page. Raises DocumentError for encrypted or scanned files."""
    pdfium = require("pypdfium2", name)
    draft = DocumentBuilder()
    with PDFIUM:
        pages, title = _pages(pdfium, name, data, limits.pdf_pages)
    draft.title = "" if _NO_TITLE.search(title) else title
    silent: list[int] = []
    broken: list[int] = []
    for number, text in enumerate(pages, start=1):
        if text and text.strip():
            draft.mark(page=number)
            draft.paragraph(text.strip("\n"))
        else:
            (broken if text is None else silent).append(number)
    if draft.empty and silent:
        raise DocumentError(
            f"{name}: scanned, its pages are pictures without a text layer",
            "Run text recognition on it first, for example with ocrmypdf.",
        )
    if draft.empty:
        raise damaged(name)
    draft.notes.extend(_note(silent, "no text layer") + _note(broken, "damage, and could not be read"))
    return draft.document(name)


def _pages(pdfium: ModuleType, name: str, data: bytes, most: int) -> tuple[list[str | None], str]:
    """Returns the text of every page (None if PDFium cannot load it) and the title."""
    library: type[Exception] = pdfium.PdfiumError
    try:
        pdf = pdfium.PdfDocument(data)
    except library as error:
        raise _refusal(name, error) from None
    try:
        if len(pdf) > most:
            raise above(name, f"{len(pdf):,} pages, more than {most:,}", "pdf_pages")
        return [_page(pdf, index, library) for index in range(len(pdf))], str(pdf.get_metadata_value("Title"))
    finally:
        pdf.close()


def _page(pdf: Any, index: int, library: type[Exception]) -> str | None:
    try:
        page = pdf[index]
        try:
            # Not get_text_range, which knows only the characters of the basic plane.
            text: str = page.get_textpage().get_text_bounded()
        finally:
            page.close()
    except library:
        return None
    return _BROKEN_WORD.sub("", tidy(text)).replace("\u00ad", "")


def _refusal(name: str, error: Exception) -> DocumentError:
    reason = str(error).lower()
    if "password" in reason or "security" in reason:
        return DocumentError(f"{name}: encrypted", "Save a copy without a password and read that.")
    return damaged(name)


def _note(numbers: list[int], what: str) -> list[str]:
    if not numbers:
        return []
    if len(numbers) == 1:
        return [f"page {numbers[0]} has {what}"]
    named = ", ".join(map(str, numbers[:_NAMED_PAGES]))
    more = f" and {len(numbers) - _NAMED_PAGES} more" if len(numbers) > _NAMED_PAGES else ""
    return [f"pages {named}{more} have {what}"]
