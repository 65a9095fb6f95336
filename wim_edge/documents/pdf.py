"""The reader of PDF: one stretch of text per page, one line per paragraph."""

from __future__ import annotations

import logging
import re
import threading
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from wim_edge.documents import scans
from wim_edge.documents.archive import damaged, encrypted
from wim_edge.documents.decode import tidy
from wim_edge.documents.document import Document, DocumentBuilder, require, short
from wim_edge.documents.limits import above
from wim_edge.documents.pdf_headings import headings
from wim_edge.documents.pdf_lines import Line
from wim_edge.documents.pdf_page import PdfPage, read_page
from wim_edge.documents.reflow import reflow
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

_BOOKMARKS, _LABEL, _LOST = 5000, 20, 200
"""The most bookmarks, and characters of a page's number; and the letters of a page for each that is lost, below which
the page is recognised."""
_TITLE, _MISSED = 200, 50
"""The characters of a title that are looked for on its page, and the titles not found there from which on no others are
looked for."""
_STAMP, _MOST, _PICTURES = 150, 0.5, 20
"""The letters of a page that may be a stamp on a picture, the share of the page that this covers, and how many of its
pictures are looked at."""
# What programs write there for want of a title: the name of a file.
_NO_TITLE = re.compile(
    r"^(untitled|\(anonymous\)|\w+:(//|blank).*|microsoft \w+ - .*)$|\.(docx?|pptx?|odt|indd|tex|dvi|pdf)$", re.I
)
_PICTURE, _FONT = re.compile(rb"/Subtype\s*/Image\b"), re.compile(rb"/Font\b")
# PDFium is not safe to call from two threads at a time.
PDFIUM = threading.Lock()
_LOST_LETTERS = "some letters that cannot be read: its fonts do not say what they are"
_XFA_FULL = 2  # PDFium's number for a file whose pages a program draws from XML, which PDFium's wheels cannot
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())  # it would tell the terminal to build another PDFium


@dataclass(frozen=True)
class _Pages:
    pages: list[PdfPage | None]
    """Every page; None if PDFium cannot load it."""
    titles: dict[int, list[str]]
    """The bookmarks by the number of their page."""
    title: str
    drawn: list[int]
    """The numbers of the pages that are pictures."""
    is_xfa: bool
    labels: list[str | None]
    """The numbers that the pages print, where they are others."""


def read_pdf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the text, with a mark for each page, and for each section, by its bookmarks or else by its headings: of
    the text layer, and where a page has none, as it is recognised. Raises DocumentError for encrypted files, and for
    scanned ones if there is no engine that recognises text."""
    pdfium = require("pypdfium2", name)
    draft = DocumentBuilder()
    with PDFIUM:
        found = _pages(pdfium, name, data, limits.pdf_pages)
    drawn = found.drawn
    pages = [None if page is None else page.lines for page in found.pages]
    draft.title = "" if _NO_TITLE.search(found.title) or found.title == Path(name).stem else found.title
    lacking = [at for at, page in enumerate(found.pages, 1) if page and _LOST * page.n_lost > _letters(page.lines)]
    scanned = scans.of_pages(data, sorted({*drawn, *lacking})[: limits.scan_pages])
    for number, page in [*scanned.items()]:
        if _letters(page.lines) >= _letters(pages[number - 1]):
            pages[number - 1] = list(page.lines)
        elif number in lacking:
            del scanned[number]
    titles = found.titles or headings([page.lines if page else [] for page in found.pages])
    silent: list[int] = []
    broken: list[int] = []
    for number, (lines, text) in enumerate(zip(pages, reflow([page or [] for page in pages]), strict=True), start=1):
        if text.strip():
            sure = scanned[number].confidence if number in scanned else None
            draft.mark(page=number, confidence=sure, page_label=found.labels[number - 1])
            shown = tidy(text).strip("\n")
            draft.paragraph(shown, sections(shown, titles.get(number, ())), joins=text.startswith("\n"))
        else:
            (broken if lines is None else silent).append(number)
    if draft.empty and silent:
        raise scans.unread(f"{name}: scanned, its pages are pictures without a text layer", drawn)
    if draft.empty:
        raise damaged(name)
    draft.notes.extend(scans.on_pages(silent, "no text layer"))
    draft.notes.extend(scans.on_pages(broken, "damage, and could not be read"))
    for number, read in enumerate(found.pages, start=1):
        if read is not None and (number not in scanned or number in lacking):
            recognised = scanned.pop(number, None)
            how = f". The text was recognised, with confidence {recognised.confidence:.2f}" if recognised else ""
            draft.notes += scans.on_pages([number] * (read.n_lost > 0), _LOST_LETTERS + how)
            for what in ["struck-out word"] * read.n_struck + ["field"] * read.n_unread:
                draft.omit(what, f"page {number}")
    covered = [number for number in drawn if number not in scanned and number not in silent]
    draft.notes.extend(scans.on_pages(covered, "a picture over most of it, in which text is not recognised"))
    if found.is_xfa:
        draft.notes.append("a form (XFA) that is drawn when it is opened: of its fields and pages some may not be read")
    draft.notes.extend(scans.note([scanned[number] for number in scanned if number not in silent]))
    return draft.document(name)


def unread_scans(data: bytes, limits: Limits) -> list[int]:
    """Returns the numbers of a PDF's pages that are pictures and were not recognised yet."""
    # Of most files the bytes tell that they hold no picture, and have fonts
    if _FONT.search(data) and not _PICTURE.search(data):
        return []
    pdfium = require("pypdfium2", "PDF")
    with PDFIUM, suppress(pdfium.PdfiumError), closing(pdfium.PdfDocument(data)) as pdf:
        drawn = [at + 1 for at in range(min(len(pdf), limits.pdf_pages)) if _is_picture(pdf, at, pdfium.PdfiumError)]
        some = drawn[: limits.scan_pages]
        return [number for number in some if number not in scans.known(data).pages] if some else []
    return []


def sections(page: str, titles: Iterable[str]) -> list[tuple[int, str]]:
    """Returns where the sections with these titles begin in a page's text: at the line that the title begins, after
    the one before; at the latter's place, or the page's beginning, if there is none."""
    found: list[tuple[int, str]] = []
    at = n_missed = 0
    for title in titles:
        words = r"\s+".join(map(re.escape, title[:_TITLE].split()))
        pattern = rf"^(?:[\w.]{{1,9}}[ \t]+)?{words}"
        heading = re.compile(pattern, re.M | re.I).search(page, at) if n_missed < _MISSED else None
        n_missed += heading is None
        at = heading.start() if heading else at
        found.append((at, title))
    return found


def _pages(pdfium: ModuleType, name: str, data: bytes, most: int) -> _Pages:
    library: type[Exception] = pdfium.PdfiumError
    try:
        pdf = pdfium.PdfDocument(data)
    except library as error:
        raise _refusal(name, error) from None
    try:
        if len(pdf) > most:
            raise above(name, f"{len(pdf):,} pages, more than {most:,}", "pdf_pages")
        if pdf.get_formtype():
            pdf.init_forms()  # which draws what was filled in where the file does not
        pages = [_page(pdf, index, library) for index in range(len(pdf))]
        few = [at for at, page in enumerate(pages) if page is not None and _letters(page.lines) < _STAMP]
        drawn = [at + 1 for at in few if _is_picture(pdf, at, library)]
        title, is_xfa = str(pdf.get_metadata_value("Title")), pdf.get_formtype() == _XFA_FULL
        labels = [_label(pdf.get_page_label(index), index + 1) for index in range(len(pdf))]
        return _Pages(pages, _bookmarks(pdf, library), title, drawn, is_xfa, labels)
    finally:
        pdf.close()


def _label(label: str, number: int) -> str | None:
    shown = short(label[: 2 * _LABEL])
    return shown if 0 < len(shown) <= _LABEL and shown != str(number) else None


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


def _page(pdf: Any, index: int, library: type[Exception]) -> PdfPage | None:
    with suppress(library):
        return read_page(pdf, index)
    return None


def _letters(lines: Iterable[Line] | None) -> int:
    return sum(len(word.text) for line in lines or () for word in line.words)


def _is_picture(pdf: Any, index: int, library: type[Exception]) -> bool:
    """Tells whether something is drawn on a page, but no text; or a picture over most of it, and hardly any text."""
    import pypdfium2.raw as raw

    try:
        with closing(pdf[index]) as page:
            if raw.FPDFPage_CountObjects(page.raw) <= 0:
                return False
            with closing(page.get_textpage()) as chars:
                text = chars.get_text_range().strip()
            if not text:
                return True
            width, height = page.get_size()
            return len(text) < _STAMP and any(
                (right - left) * (top - bottom) > _MOST * width * height
                for left, bottom, right, top in (
                    one.get_bounds() for one in islice(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE]), _PICTURES)
                )
            )
    except library:
        return False


def _refusal(name: str, error: Exception) -> DocumentError:
    reason = str(error).lower()
    if "password" in reason or "security" in reason:
        return encrypted(name)
    return damaged(name)
