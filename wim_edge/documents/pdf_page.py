"""A page of a PDF as a reader sees it: its lines, with what is filled in, and without what is struck out."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from wim_edge.documents.pdf_forms import take_fields, with_fields
from wim_edge.documents.pdf_lines import Line, page_lines
from wim_edge.documents.pdf_words import Box, page_words

_THICKEST = 4.0  # points of a line through words


class PdfPage(NamedTuple):
    """The lines of a page in the order of reading, the number of its words that are struck out, that of its letters
    that cannot be read, and that of its fields that were not."""

    lines: list[Line]
    n_struck: int = 0
    n_lost: int = 0
    n_unread: int = 0


def read_page(pdf: Any, index: int) -> PdfPage:
    """Returns a page of an open file of pypdfium2's, whose forms are initialised. Raises PdfiumError."""
    import pypdfium2.raw as raw

    with closing(pdf[index]) as page:
        if raw.FPDFPage_GetAnnotCount(page.raw) <= 0:
            found = page_words(page, list(rules(page)))
            return PdfPage(page_lines(found), found.n_struck, found.n_lost)
        strikes = list(_struck(raw, page))
        fields, n_unread = take_fields(pdf.formenv, page) if pdf.formenv else ([], 0)
        raw.FPDFPage_Flatten(page.raw, raw.FLAT_NORMALDISPLAY)  # draws the other notes into the page
    with closing(pdf[index]) as page:
        found = page_words(page, [*strikes, *rules(page)])
        lines = with_fields(page_lines(found), fields, page.get_rotation(), found.from_right)
        return PdfPage(lines, found.n_struck, found.n_lost, n_unread)


def rules(page: Any) -> Iterator[Box]:
    """Yields the rules of a page, and whatever else that is drawn may be a line through words."""
    import pypdfium2.raw as raw

    edges = [ctypes.c_float() for _ in range(4)]
    for at in range(raw.FPDFPage_CountObjects(page.raw)):
        shape = raw.FPDFPage_GetObject(page.raw, at)
        if raw.FPDFPageObj_GetType(shape) == raw.FPDF_PAGEOBJ_PATH and raw.FPDFPageObj_GetBounds(shape, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            if min(right - left, top - bottom) <= _THICKEST:
                yield left, bottom, right, top


def _struck(raw: Any, page: Any) -> Iterator[Box]:
    """Yields the lines through words that a reader of the page has drawn."""
    corners = raw.FS_QUADPOINTSF()
    for at in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        note = raw.FPDFPage_GetAnnot(page.raw, at)
        if raw.FPDFAnnot_GetSubtype(note) == raw.FPDF_ANNOT_STRIKEOUT:
            for number in range(raw.FPDFAnnot_CountAttachmentPoints(note)):
                raw.FPDFAnnot_GetAttachmentPoints(note, number, corners)
                across = corners.x1, corners.x2, corners.x3, corners.x4
                down = corners.y1, corners.y2, corners.y3, corners.y4
                left, bottom, right, top = min(across), min(down), max(across), max(down)
                yield left, (bottom + top) / 2, right, (bottom + top) / 2
                yield (left + right) / 2, bottom, (left + right) / 2, top  # of text that is turned
        raw.FPDFPage_CloseAnnot(note)
