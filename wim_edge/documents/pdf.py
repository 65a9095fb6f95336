"""The reader of PDF: a mark for each page and section, and each paragraph on one line."""

from __future__ import annotations

import ctypes
import logging
import re
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from wim_edge.documents import scans
from wim_edge.documents.archive import damaged, encrypted
from wim_edge.documents.decode import tidy
from wim_edge.documents.document import Document, DocumentBuilder, above, require, short
from wim_edge.documents.pdf_forms import take_fields, with_fields
from wim_edge.documents.pdf_lines import Line, headings, page_lines
from wim_edge.documents.pdf_words import NOWHERE, Box, as_read, page_words, pypdfium2, raw
from wim_edge.documents.reflow import reflow
from wim_edge.documents.runs import HIDDEN
from wim_edge.settings import Limits

_BOOKMARKS, _LABEL, _LOST = 5000, 20, 200
"""The most bookmarks and the most characters of a label. A page with over 1 unreadable letter in ``_LOST`` gets OCR."""
_TITLE, _MISSED = 200, 50
"""A title's first ``_TITLE`` characters are searched for on its page, until ``_MISSED`` titles were not found."""
_STAMP, _MOST, _PICTURES = 150, 0.5, 20
"""A page may be a scan if it has under ``_STAMP`` letters, and one of ``_PICTURES`` images covers ``_MOST`` of it."""
_NO_TITLE = re.compile(  # what programs write without a title: "untitled", a URL, or the file's name
    r"^(untitled|\(anonymous\)|\w+:(//|blank).*|microsoft \w+ - .*)$|\.(docx?|pptx?|odt|indd|tex|dvi|pdf)$", re.I
)
_THICKEST = 4.0  # points; a line through words is not thicker
_PICTURE, _FONT = re.compile(rb"/Subtype\s*/Image\b"), re.compile(rb"/Font\b")
_LAYERS, _PACKED = re.compile(rb"/OCProperties|/Encrypt"), re.compile(rb"/ObjStm\b[^>]{0,300}>>\s*stream\r?\n")
_STREAMS, _UNPACKED = 2000, 200_000  # the most streams in which layers are searched for, and bytes of each
_LAYER, _OBJECTS, _GROUPS, _PIXELS = "OC\0".encode("utf-16-le"), 100_000, 200, 1000
"""The name of a layer's mark; the most objects and groups of texts on a page; the size of a test picture, in pixels."""
_SHADES, _WHITE = bytes(level >> 4 for level in range(256)), b"\x0f\x0f\x0f"  # levels that look alike are one shade
_SOLIDS, _TRIED = 200, 60  # the most solids on a page whose texts may be hidden; how many texts are tried before all
_Solid = tuple[Box, int, bytes | None]  # a shape that may cover texts: box, number of texts before it, colour
_Form = tuple[int, Callable[..., Box], tuple[Box, ...]]
"""A form's address, a function that moves a box in it to the page, and the boxes outside of which it is not shown."""
_PAGE: _Form = 0, lambda *box: box, ()
_EDGES, _LEVELS, _FLAGS = (ctypes.c_float * 4)(), (ctypes.c_uint * 4)(), (ctypes.c_int(), ctypes.c_int())
_EACH_EDGE = [ctypes.c_float.from_buffer(_EDGES, 4 * at) for at in range(4)]
_EACH_LEVEL = [ctypes.c_uint.from_buffer(_LEVELS, 4 * at) for at in range(4)]
"""The variables in which PDFium returns a box, a colour, and whether a path is filled and outlined."""
_PDFIUM = threading.Lock()  # it is not thread-safe
_XFA_FULL = 2  # PDFium's number for XFA forms: their pages are drawn from XML, which its wheels cannot do
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())  # it would print advice to build another PDFium


@dataclass
class PdfPage:
    """A page: its lines in reading order, its number of unreadable letters (``n_lost``), and omitted texts by kind."""

    lines: list[Line]
    n_lost: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    ends: tuple[float, float] = 0.0, 0.0
    """The bottom and top of the page, in its lines' coordinates."""
    is_broken: bool = False
    """True if PDFium cannot load the page."""
    is_drawn: bool = False
    """True if the page is a picture, such as a scan, with no text or hardly any."""
    label: str | None = None
    """The page's label ("iv"), if it differs from the page's number in the file; else None."""
    titles: list[str] = field(default_factory=list)
    """The titles of the sections on the page: its bookmarks, or its headings if the file has no bookmarks."""


def read_pdf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns a PDF's text, with marks for its pages and its sections. Sections are the bookmarks, or else the
    headings. Recognises scanned pages. Raises DocumentError for encrypted, damaged, too long or textless files."""
    draft = DocumentBuilder()
    with opened(name, data) as pdf:
        if len(pdf) > limits.pdf_pages:
            raise above(name, f"{len(pdf):,} pages, more than {limits.pdf_pages:,}", "pdf_pages")
        pages = _pages(pdf, _may_have_layers(data))
        title, is_xfa = str(pdf.get_metadata_value("Title")), pdf.get_formtype() == _XFA_FULL
    draft.title = "" if _NO_TITLE.search(title) or title == Path(name).stem else title
    drawn = [number for number, page in enumerate(pages, 1) if page.is_drawn]
    lacking = [number for number, page in enumerate(pages, 1) if _LOST * page.n_lost > _letters(page.lines)]
    scanned = scans.of_pages(data, sorted({*drawn, *lacking})[: limits.scan_pages])
    lines = [page.lines for page in pages]
    for number, scan in [*scanned.items()]:
        if _letters(scan.lines) >= _letters(lines[number - 1]):
            lines[number - 1] = scan.lines
            pages[number - 1].ends = -max(map(abs, pages[number - 1].ends)), 0.0
        elif number in lacking:
            del scanned[number]
    if not any(page.titles for page in pages):
        for page, titles in zip(pages, headings([page.lines for page in pages]), strict=True):
            page.titles = titles
    texts = [*enumerate(zip(pages, reflow(lines, [page.ends for page in pages]), strict=True), start=1)]
    silent = [number for number, (page, text) in texts if not (text.strip() or page.is_broken)]
    for number, (page, text) in texts:
        if text.strip():
            sure = scanned[number].confidence if number in scanned else None
            draft.mark(page=number, confidence=sure, page_label=page.label)
            shown = tidy(text).strip("\n")
            draft.paragraph(shown, sections(shown, page.titles), joins=text.startswith("\n"))
    if draft.empty:
        what = f"{name}: scanned, its pages are pictures without a text layer"
        raise scans.unread(what, drawn) if silent else damaged(name)
    draft.notes += scans.on_pages(silent, "no text layer")
    broken = [number for number, page in enumerate(pages, 1) if page.is_broken]
    draft.notes += scans.on_pages(broken, "damage, and could not be read")
    for number, page in enumerate(pages, start=1):
        if number not in scanned or number in lacking:
            recognised = scanned.pop(number, None)
            how = f". The text was recognised, with confidence {recognised.confidence:.2f}" if recognised else ""
            lost = f"some letters that cannot be read: its fonts do not say what they are{how}"
            draft.notes += scans.on_pages([number] * (page.n_lost > 0), lost)
            for what in page.left_out.elements():
                draft.omit(what, f"page {number}")
    covered = [number for number in drawn if number not in scanned and number not in silent]
    draft.notes += scans.on_pages(covered, "a picture over most of it, in which text is not recognised")
    if is_xfa:
        draft.notes.append("a form (XFA) that is drawn when it is opened: of its fields and pages some may not be read")
    draft.notes += scans.note([scan for number, scan in scanned.items() if number not in silent])
    return draft.document(name)


@contextmanager
def opened(name: str, source: bytes | Path) -> Iterator[Any]:
    """Yields an open pypdfium2 document, to one thread at a time. Raises DocumentError if encrypted or damaged."""
    require("pypdfium2", name)
    with _PDFIUM:
        try:
            with closing(pypdfium2.PdfDocument(source)) as pdf:
                yield pdf
        except (pypdfium2.PdfiumError, OSError) as error:
            is_locked = re.search("password|security", str(error), re.IGNORECASE)
            raise (encrypted(name) if is_locked else damaged(name)) from None


def unread_scans(data: bytes, limits: Limits) -> list[int]:
    """Returns the numbers (from 1) of a PDF's scanned pages that are not recognised yet. May raise DocumentError."""
    # Most files need not be opened: their bytes name fonts but no picture
    if _FONT.search(data) and not _PICTURE.search(data):
        return []
    with opened("PDF", data) as pdf:
        drawn = [at + 1 for at in range(min(len(pdf), limits.pdf_pages)) if _is_picture(pdf, at)][: limits.scan_pages]
    recognised = scans.known(data).pages if drawn else {}
    return [number for number in drawn if number not in recognised]


def sections(page: str, titles: Iterable[str]) -> list[tuple[int, str]]:
    """Returns (offset, title) for each of a page's titles, in order. The offset in the page's text ``page`` is that of
    the next line that begins with the title; without such a line, the offset of the title before, or 0."""
    found: list[tuple[int, str]] = []
    at = n_missed = 0
    for title in titles:
        pattern = r"^(?:[\w.]{1,9}[ \t]+)?" + r"\s+".join(map(re.escape, title[:_TITLE].split()))
        heading = re.compile(pattern, re.M | re.I).search(page, at) if n_missed < _MISSED else None
        n_missed += heading is None
        at = heading.start() if heading else at
        found.append((at, title))
    return found


def _may_have_layers(data: bytes) -> bool:
    """Returns whether a PDF may have layers: it names them, openly or in a compressed stream, or is encrypted."""
    for packed in islice(_PACKED.finditer(data), _STREAMS):
        stream = data[packed.end() : packed.end() + _UNPACKED]
        with suppress(zlib.error):
            if _LAYERS.search(zlib.decompressobj().decompress(stream, _UNPACKED)):
                return True
    return _LAYERS.search(data) is not None


def _pages(pdf: Any, has_layers: bool) -> list[PdfPage]:
    pages = []
    for index in range(len(pdf)):
        page = PdfPage([], is_broken=True)
        with suppress(pypdfium2.PdfiumError):
            page = read_page(pdf, index, has_layers)
        page.is_drawn = _letters(page.lines) < _STAMP and _is_picture(pdf, index)
        label = short(pdf.get_page_label(index)[: 2 * _LABEL])
        page.label = label if 0 < len(label) <= _LABEL and label != str(index + 1) else None
        pages.append(page)
    with suppress(pypdfium2.PdfiumError, ValueError):  # a damaged title: those before it are kept
        for bookmark in islice(pdf.get_toc(), _BOOKMARKS):
            target, title = bookmark.get_dest(), bookmark.get_title().strip()
            at = target.get_index() if target and title else None
            if at is not None and at < len(pages):
                pages[at].titles.append(title)
    return pages


def _letters(lines: Iterable[Line]) -> int:
    return sum(len(line.text) - line.text.count(" ") for line in lines)


def _is_picture(pdf: Any, index: int) -> bool:
    """Returns whether a page has objects but no text, or hardly any text and a picture over most of its area."""
    with suppress(pypdfium2.PdfiumError), closing(load_page(pdf, index)) as page:
        if raw.FPDFPage_CountObjects(page.raw) <= 0:
            return False
        with closing(page.get_textpage()) as chars:
            text = chars.get_text_range().strip()
        width, height = page.get_size()
        objects = islice(_objects(page), _OBJECTS)
        pictures = (_box(one, form) for one, kind, form in objects if kind == raw.FPDF_PAGEOBJ_IMAGE)
        areas = ((right - left) * (top - bottom) for left, bottom, right, top in islice(pictures, _PICTURES))
        return not text or (len(text) < _STAMP and max(areas, default=0.0) > _MOST * width * height)
    return False


def read_page(pdf: Any, index: int, has_layers: bool = True) -> PdfPage:
    """Returns page ``index`` (from 0) of an open PDF; if ``has_layers``, without hidden ones. Raises PdfiumError."""
    pdf.init_forms()
    with ExitStack() as loaded:
        page = loaded.enter_context(closing(load_page(pdf, index)))
        _, bottom, _, top = as_read(page.get_bbox(), page.get_rotation())
        strikes = list(_struck(page))
        fields, n_unread = take_fields(pdf.formenv, page) if pdf.formenv else ([], 0)
        if raw.FPDFPage_GetAnnotCount(page.raw) > 0:
            raw.FPDFPage_Flatten(page.raw, raw.FLAT_NORMALDISPLAY)  # draws the other annotations into the page
            loaded.close()
            page = loaded.enter_context(closing(load_page(pdf, index)))
        n_hidden = _hide_layers(page) if has_layers else 0
        rules, n_unseen = drawings(page)
        found = page_words(page, [*strikes, *rules], len(strikes))
        lines = page_lines(found)
        lines = with_fields(lines, fields, page.get_rotation(), found.from_right) if fields else lines
    n_hidden += n_unseen + found.n_outside
    left_out = Counter({"struck-out word": found.n_struck, "field": n_unread, HIDDEN: n_hidden})
    return PdfPage(lines, found.n_lost, left_out, (bottom, top))


def _hide_layers(page: Any) -> int:
    """Switches off a page's objects that are no text, and its texts in hidden layers, which PDFium reads but does not
    draw. Returns the number of hidden groups of texts. The texts of a group are in the same form and layers."""
    groups: dict[tuple[int, ...], list[Any]] = defaultdict(list)
    for one, kind, form in islice(_objects(page), _OBJECTS):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            _, bottom, _, top = _box(one, form)
            groups[(form[0], *_layers(one)) if bottom < top else ()].append(one)  # (): blanks
        raw.FPDFPageObj_SetIsActive(one, kind in (raw.FPDF_PAGEOBJ_FORM, raw.FPDF_PAGEOBJ_TEXT))
    return sum(any(key) and _hides(page, groups[key]) for key in [*groups][:_GROUPS])


def _layers(one: Any) -> Iterator[int]:
    """Yields an identifier, the memory address, of each mark that puts an object on a page into a layer."""
    name, size = (ctypes.c_ushort * 3)(), ctypes.c_ulong()
    for at in range(raw.FPDFPageObj_CountMarks(one)):
        mark = raw.FPDFPageObj_GetMark(one, at)
        raw.FPDFPageObjMark_GetName(mark, name, ctypes.sizeof(name), size)
        if size.value == ctypes.sizeof(name) and bytes(name) == _LAYER:
            yield ctypes.addressof(mark.contents)


def _hides(page: Any, texts: Iterable[Any]) -> bool:
    """Switches off ``texts`` if the page looks the same without them. Returns whether they are switched off."""
    pictures: set[bytes] = set()
    for is_on in (True, False):
        for one in texts:
            raw.FPDFTextObj_SetTextRenderMode(one, raw.FPDF_TEXTRENDERMODE_FILL)  # recognised text is not drawn either
            raw.FPDFPageObj_SetIsActive(one, is_on)
        drawn = page.render(scale=_PIXELS / max(page.get_size()), may_draw_forms=False, draw_annots=False)
        pictures.add(bytes(drawn.buffer).translate(_SHADES))
    for one in texts if len(pictures) > 1 else ():
        raw.FPDFPageObj_SetIsActive(one, True)
    return len(pictures) == 1


def load_page(pdf: Any, index: int) -> Any:
    """Loads page ``index`` (from 0), but does not prepare its form for drawing: with long lists, that takes minutes."""
    form, pdf.formenv = pdf.formenv, None
    try:
        return pdf[index]
    finally:
        pdf.formenv = form


def drawings(page: Any) -> tuple[list[Box], int]:
    """Returns (boxes, number). The boxes are of a page's thin drawings: rules, and lines that may strike words out. The
    number counts passages of text without which the page looks the same; these are switched off."""
    thin, solids, texts = list[Box](), list[_Solid](), list[tuple[Any, _Form]]()
    left, bottom, right, top = page.get_bbox()
    for shape, kind, form in islice(_objects(page), _OBJECTS):
        if kind == raw.FPDF_PAGEOBJ_TEXT:
            texts.append((shape, form))
        elif kind != raw.FPDF_PAGEOBJ_FORM:
            box = _box(shape, form)
            raw.FPDFPageObj_SetIsActive(shape, True)  # after `_hide_layers`
            width, height, is_path = box[2] - box[0], box[3] - box[1], kind == raw.FPDF_PAGEOBJ_PATH
            is_page = width * height > _MOST * (right - left) * (top - bottom)
            if min(width, height) <= _THICKEST:
                thin += [box] if is_path else []
            elif not is_path:  # what is recognised in a picture may be text below it
                solids.append((box, 0 if is_page else len(texts), None))
            elif raw.FPDFPath_GetDrawMode(shape, *_FLAGS) and _FLAGS[0].value:
                solids.append((box, len(texts), _colour(shape)))
    is_tried = len(solids) <= _SOLIDS and any(_doubtful(texts, solids, max(1, len(texts) // _TRIED)))
    doubtful = [*enumerate(_doubtful(texts, solids))] if is_tried else []
    passages = islice(groupby(doubtful, key=lambda one: (one[1][0] - one[0], one[1][1])), _GROUPS)
    return thin, sum(_hides(page, [text for _, (*_, text) in passage]) for _, passage in passages)


def _objects(page: Any, holder: Any = None, form: _Form = _PAGE) -> Iterator[tuple[Any, int, _Form]]:
    """Yields (object, kind, form) of the objects on a page or in the form ``holder``, in drawing order."""
    n = raw.FPDFFormObj_CountObjects(holder) if holder else raw.FPDFPage_CountObjects(page.raw)
    get, within = (raw.FPDFFormObj_GetObject, holder) if holder else (raw.FPDFPage_GetObject, page.raw)
    for at in range(n):
        one = get(within, at)
        kind = raw.FPDFPageObj_GetType(one)
        yield one, kind, form
        if kind == raw.FPDF_PAGEOBJ_FORM:
            rect = pypdfium2.PdfObject(one, page).get_matrix().on_rect
            to_page = partial(lambda outer, rect, *box: outer(*rect(*box)), form[1], rect)
            yield from _objects(page, one, (ctypes.addressof(one.contents), to_page, _clips(one, form)))


def _box(one: Any, form: _Form) -> Box:
    return form[1](*_EDGES) if raw.FPDFPageObj_GetBounds(one, *_EACH_EDGE) else NOWHERE


def _clips(one: Any, form: _Form) -> tuple[Box, ...]:
    """Returns the boxes around the paths outside of which an object is not shown."""
    path, boxes = raw.FPDFPageObj_GetClipPath(one), form[2]
    for number in range(raw.FPDFClipPath_CountPaths(path)):
        n = raw.FPDFClipPath_CountPathSegments(path, number)
        ends = (raw.FPDFClipPath_GetPathSegment(path, number, at) for at in range(n))
        places = [_EDGES[:2] for end in ends if raw.FPDFPathSegment_GetPoint(end, *_EACH_EDGE[:2])] or [[0.0, 0.0]]
        (left, right), (bottom, top) = ((min(line), max(line)) for line in zip(*places, strict=True))
        boxes = (*boxes, form[1](left, bottom, right, top))
    return boxes


def _colour(shape: Any) -> bytes:
    raw.FPDFPageObj_GetFillColor(shape, *_EACH_LEVEL)
    return bytes(_LEVELS[:3]).translate(_SHADES)


def _doubtful(texts: list[tuple[Any, _Form]], solids: list[_Solid], step: int = 1) -> Iterator[tuple[Any, ...]]:
    """Yields (index, [last solid over it] or [], text) of texts that may be unseen. Tests each ``step``-th text."""
    n_below, colours = max((n for _, n, _ in solids), default=0), {_WHITE, *(colour for *_, colour in solids)}
    for at in range(0, len(texts), step):
        text, form = texts[at]
        colour, clips = _colour(text), _clips(text, form)
        if (at < n_below or clips or colour in colours) and (box := _box(text, form))[0] < box[2]:
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            here = [one for one in solids if one[0][0] < x < one[0][2] and one[0][1] < y < one[0][3]]
            behind = [_WHITE, *(shade for _, n_before, shade in here if n_before <= at)]
            is_cut = any(min(box[n + 2], clip[n + 2]) - max(box[n], clip[n]) < 1 for clip in clips for n in (0, 1))
            is_drawn = raw.FPDFTextObj_GetTextRenderMode(text) != raw.FPDF_TEXTRENDERMODE_INVISIBLE
            if is_drawn and (is_cut or len(behind) <= len(here) or behind[-1] == colour):
                yield at, here[-1:], text


def _struck(page: Any) -> Iterator[Box]:
    """Yields a horizontal and a vertical line through the middle of each box of a page's strike-out annotations."""
    corners = raw.FS_QUADPOINTSF()
    for at in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        note = raw.FPDFPage_GetAnnot(page.raw, at)
        if raw.FPDFAnnot_GetSubtype(note) == raw.FPDF_ANNOT_STRIKEOUT:
            for number in range(raw.FPDFAnnot_CountAttachmentPoints(note)):
                raw.FPDFAnnot_GetAttachmentPoints(note, number, corners)
                left, *_, right = sorted((corners.x1, corners.x2, corners.x3, corners.x4))
                bottom, *_, top = sorted((corners.y1, corners.y2, corners.y3, corners.y4))
                yield left, (bottom + top) / 2, right, (bottom + top) / 2
                yield (left + right) / 2, bottom, (left + right) / 2, top  # strikes out turned text
        raw.FPDFPage_CloseAnnot(note)
