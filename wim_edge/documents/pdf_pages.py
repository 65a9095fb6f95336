"""The pages of a PDF as shown: their sizes, images, and places of words, which are those of the repaired text."""

from __future__ import annotations

import ctypes
import io
import re
from collections.abc import Container, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from wim_edge.documents import scans
from wim_edge.documents.pdf import load_page, opened, read_page
from wim_edge.documents.pdf_lines import Line
from wim_edge.documents.pdf_words import BROKEN, raw
from wim_edge.errors import LibraryError

WIDEST = 2400  # pixels; a full page on a large high-density screen
_SHARES = 1_000_000  # PDFium returns whole pixels, so places are measured on a page this wide and high
_FEW = 40  # a page with fewer words may be a picture with a stamp on it

Box = tuple[float, float, float, float]
"""Left, top, right and bottom as shares of the shown page's width and height, from its upper left corner."""


@dataclass(frozen=True)
class PageWord:
    """A word of a page's text and its box on the page. A word that is broken over two lines is two `PageWord`s."""

    start: int
    """The characters ``[start, end)`` of the page's text."""
    end: int
    box: Box


def page_sizes(path: Path) -> list[tuple[float, float]]:
    """Returns the width and height of each page as shown, in points. Raises DocumentError if the file is unreadable."""
    with opened(path.name, path) as pdf:
        return [tuple(pdf.get_page_size(number)) for number in range(len(pdf))]


def page_image(path: Path, page: int, width: int) -> bytes:
    """Returns a page (from 1) as JPEG, ``width`` pixels wide, but at most `WIDEST` pixels wide or high. Raises
    DocumentError if the file is unreadable, and LibraryError if it has no such page."""
    with opened(path.name, path) as pdf, _page(pdf, page) as shown:
        across, down = shown.get_size()
        picture = shown.render(scale=min(width, WIDEST, WIDEST * across / down) / across).to_pil()
    file = io.BytesIO()
    picture.convert("RGB").save(file, "JPEG", quality=90)
    return file.getvalue()


def page_words(path: Path, page: int, text: str) -> list[PageWord]:
    """Returns the words of a page's ``text`` that are found on the page (from 1). Raises what `page_image` raises."""
    with opened(path.name, path) as pdf, _page(pdf, page) as shown:
        lines, (across, down) = read_page(pdf, page - 1).lines, shown.get_size()
        found = list(_words(lines, shown, {*text.split()}))
    known = scans.known(path.read_bytes()).pages.get(page) if len(found) < _FEW and scans.engine() else None
    recognised = [
        (word.text, [(word.left / across, -line.top / down, word.right / across, -line.bottom / down)])
        for line in (known.lines if known else ()) for word in line.words
        if word.right <= across and -line.bottom <= down  # not of a page that was turned to recognise it
    ]  # fmt: skip
    found = max(found, recognised, key=len)
    wanted = [match.span() for match in re.finditer(r"\S+", text)]
    alike = SequenceMatcher(None, [text[start:end] for start, end in wanted], [word for word, _ in found], False)
    return [
        PageWord(*wanted[at + n], box)
        for at, other, size in alike.get_matching_blocks()
        for n in range(size)
        for box in found[other + n][1]
    ]


def _page(pdf: Any, number: int) -> closing[Any]:
    if not 1 <= number <= len(pdf):
        raise LibraryError(f"there is no page {number}", f"It has {len(pdf)} pages.")
    return closing(load_page(pdf, number - 1))


def _words(lines: Iterable[Line], page: Any, wanted: Container[str]) -> Iterator[tuple[str, list[Box]]]:
    """Yields (word, boxes) of a page's words in reading order, with a box per line that a word is on. A word broken at
    a line's end continues on the next line that completes it to a word in ``wanted``: a footer may be in between."""
    begun: tuple[str, list[Box]] | None = None
    for line in lines:
        for number, word in enumerate(line.words):
            text, boxes = word.text.rstrip(BROKEN), [_box(page, word.box)] if word.box else []
            if begun is not None and number == 0 and begun[0] + text in wanted:
                text, boxes, begun = begun[0] + text, begun[1] + boxes, None
            if word.text.endswith(tuple(BROKEN)):
                begun = text, boxes
            else:
                yield text, boxes


def _box(page: Any, place: Box) -> Box:
    """Converts a box in PDF coordinates to shares of the page as shown, which may be turned and cropped."""
    shown = []
    for x, y in (place[:2], place[2:]):
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page.raw, 0, 0, _SHARES, _SHARES, 0, x, y, across, down)
        shown.append((across.value / _SHARES, down.value / _SHARES))
    (left, bottom), (right, top) = shown
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)
