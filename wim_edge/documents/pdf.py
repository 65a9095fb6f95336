"""The reader of PDF: one stretch of text a page, a line a paragraph."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from types import ModuleType
from typing import Any

from wim_edge.documents.archive import damaged
from wim_edge.documents.decode import tidy
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS, above
from wim_edge.documents.pdf_lines import Line, page_lines
from wim_edge.documents.reflow import reflow
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

_NAMED_PAGES = 5
_BOOKMARKS = 5000
# What programs write there for want of a title: the name of a file.
_NO_TITLE = re.compile(r"^(untitled|\w+:(//|blank).*|microsoft \w+ - .*)$|\.(docx?|pptx?|odt|indd|tex|dvi|pdf)$", re.I)
# PDFium is not safe to call from two threads at a time.
PDFIUM = threading.Lock()


def read_pdf(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text layer, with a mark for each page, and for each section where the file has bookmarks. Raises
    DocumentError for encrypted or scanned files."""
    pdfium = require("pypdfium2", name)
    draft = DocumentBuilder()
    with PDFIUM:
        pages, titles, title = _pages(pdfium, name, data, limits.pdf_pages)
    draft.title = "" if _NO_TITLE.search(title) else title
    silent: list[int] = []
    broken: list[int] = []
    for number, (lines, text) in enumerate(zip(pages, reflow([page or [] for page in pages]), strict=True), start=1):
        if text.strip():
            draft.mark(page=number)
            shown = tidy(text).strip("\n")
            draft.paragraph(shown, sections(shown, titles.get(number, ())))
        else:
            (broken if lines is None else silent).append(number)
    if draft.empty and silent:
        raise DocumentError(
            f"{name}: scanned, its pages are pictures without a text layer",
            "Run text recognition on it first, for example with ocrmypdf.",
        )
    if draft.empty:
        raise damaged(name)
    draft.notes.extend(_note(silent, "no text layer") + _note(broken, "damage, and could not be read"))
    return draft.document(name)


def sections(page: str, titles: Iterable[str]) -> list[tuple[int, str]]:
    """Returns where the sections with these titles begin in a page's text: at the line that the title begins, after
    the one before; at the latter's place, or the page's beginning, if there is none."""
    found: list[tuple[int, str]] = []
    at = 0
    for title in titles:
        words = r"\s+".join(map(re.escape, title.split()))
        heading = re.compile(rf"^(?:[\w.]{{1,9}}[ \t]+)?{words}", re.M | re.I).search(page, at)
        at = heading.start() if heading else at
        found.append((at, title))
    return found


def _pages(
    pdfium: ModuleType, name: str, data: bytes, most: int
) -> tuple[list[list[Line] | None], dict[int, list[str]], str]:
    """Returns the lines of every page (None if PDFium cannot load it), the bookmarks by the number of their page, and
    the title."""
    library: type[Exception] = pdfium.PdfiumError
    try:
        pdf = pdfium.PdfDocument(data)
    except library as error:
        raise _refusal(name, error) from None
    try:
        if len(pdf) > most:
            raise above(name, f"{len(pdf):,} pages, more than {most:,}", "pdf_pages")
        pages = [_page(pdf, index, library) for index in range(len(pdf))]
        return pages, _bookmarks(pdf, library), str(pdf.get_metadata_value("Title"))
    finally:
        pdf.close()


def _bookmarks(pdf: Any, library: type[Exception]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    try:
        for bookmark in islice(pdf.get_toc(), _BOOKMARKS):
            target, title = bookmark.get_dest(), bookmark.get_title().strip()
            if target and title and (index := target.get_index()) is not None:
                found[index + 1].append(title)
    except (library, ValueError):  # a title that is not text: those before it are enough
        pass
    return dict(found)


def _page(pdf: Any, index: int, library: type[Exception]) -> list[Line] | None:
    try:
        page = pdf[index]
        try:
            return page_lines(page)
        finally:
            page.close()
    except library:
        return None


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
