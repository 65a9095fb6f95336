"""The reader of PPTX: one page per slide, in the order in which it is read, with tables, charts, diagrams and notes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from wim_edge.documents.archive import Archive, damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.drawings import CHART, DIAGRAM, add_drawing
from wim_edge.documents.formulas import linear
from wim_edge.documents.numbering import written
from wim_edge.documents.rows import add_rows, repeated
from wim_edge.documents.runs import LOWERED, RAISED, STRUCK, shown

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_RUNS = frozenset({f"{_A}r", f"{_A}br", f"{_A}fld", _FORMULA})
_DEEP = 20  # most levels of nested groups, and of rows and columns
_OVERLAP = 0.1  # the part of a shape that may overlap the row or column before it
_Box = tuple[float, ...]  # left, top, right and bottom on the slide; empty for a hidden shape
_Placed = tuple[int, Any, _Box]  # a shape, with its place in the file before it
_POINTS = ("BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT")
"""The placeholders of a slide whose paragraphs are bullet points."""
_KINDS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_FORMS = {"ParenBoth": "({})", "ParenR": "{})", "Plain": "{}"}
"""The kinds and the forms of automatic numbers, by the beginning and the end of their names."""


def read_pptx(archive: Archive) -> Document:
    """Returns the text of all slides; each is a page, and a section named after its title. Raises DocumentError."""
    pptx, etree = require("pptx", archive.name), require("lxml.etree", archive.name)
    archive.bound_markup()
    draft = DocumentBuilder()
    try:
        deck = pptx.Presentation(io.BytesIO(archive.data))
        draft.title = deck.core_properties.title or ""
        for number, slide in enumerate(deck.slides, start=1):
            if slide._element.get("show") in ("0", "false"):
                draft.omit("hidden slide", f"page {number}")
                continue
            for choices in [*slide._element.iter("{*}AlternateContent")]:  # python-pptx skips the shapes in them
                for one in choices.findall("{*}Choice/*"):
                    choices.addprevious(one)
            named, shapes = slide.shapes.title, list[_Placed]()
            for at, (shape, box) in enumerate(_placed(slide.shapes, (0, 0, 1, 1))):
                if next(shape._element.iter(f"{_A}t", _FORMULA, CHART, DIAGRAM), None) is not None:
                    if box and box[0] < deck.slide_width and box[1] < deck.slide_height and min(box[2:]) > 0:
                        shapes.append((at, shape, box))
                    else:
                        draft.omit("hidden shape", f"page {number}")
            title = [one for one in shapes if named is not None and one[1]._element is named._element]
            draft.mark(page=number, section=_said(named.text_frame, lambda _: None) if title else None)
            for _, shape, _ in title + _ordered([one for one in shapes if one not in title]):
                _add(draft, shape, pptx.oxml.parse_xml)
            if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
                said = _said(notes, draft.omit).strip()
                draft.paragraph(f"Notes: {said}" if said else "")
    except (pptx.exc.PythonPptxError, etree.LxmlError, OverflowError):
        raise damaged(archive.name) from None
    return draft.document(archive.name)


def _placed(shapes: Iterable[Any], frame: _Box, depth: int = 0) -> Iterator[tuple[Any, _Box]]:
    """Yields the shapes, also of groups, with their boxes. ``frame``: the left and top of the shapes' coordinates, and
    their scales; empty in a hidden group."""
    for shape in shapes:
        box: _Box = ()
        own = next(shape._element.iter("{*}cNvPr"), shape._element)
        if frame and own.get("hidden") not in ("1", "true"):
            left, top = frame[0] + (shape.left or 0) * frame[2], frame[1] + (shape.top or 0) * frame[3]
            box = left, top, left + (shape.width or 1) * frame[2], top + (shape.height or 1) * frame[3]
        if hasattr(shape, "shapes") and depth < _DEEP:
            begin, size = shape._element.chOff, shape._element.chExt
            inner = box
            if box:
                across = (box[2] - box[0]) / size.cx if size.cx else frame[2]
                down = (box[3] - box[1]) / size.cy if size.cy else frame[3]
                inner = box[0] - begin.x * across, box[1] - begin.y * down, across, down
            yield from _placed(shape.shapes, inner, depth + 1)
        else:
            yield shape, box


def _ordered(shapes: list[_Placed], depth: int = 0) -> list[_Placed]:
    """Returns shapes in reading order: by rows. Rows of as many shapes are a grid, which is read by columns if the file
    has this order, too."""
    rows, columns = _bands(shapes, 1), _bands(shapes, 0)
    alike = groupby(rows, key=lambda row: len(_bands(row, 0)))
    blocks = [[one for row in block for one in row] for _, block in alike]
    if len(blocks) == 1:
        in_file = sorted((one[0], column) for column, band in enumerate(columns) for one in band)
        n_runs = sum(1 for _ in groupby(in_file, key=lambda one: one[1]))
        blocks = columns if len(rows) == 1 or n_runs == len(columns) == len(_bands(rows[0], 0)) else rows
    if len(blocks) < 2 or depth == _DEEP:
        return sorted(shapes, key=lambda one: (one[2][1], one[2][0]))
    return [one for block in blocks for one in _ordered(block, depth + 1)]


def _bands(shapes: list[_Placed], axis: int) -> list[list[_Placed]]:
    """Returns the columns (``axis`` 0) or rows (1) of shapes that are beside or below each other."""
    bands: list[list[_Placed]] = []
    end = 0.0
    for one in sorted(shapes, key=lambda one: one[2][axis]):
        begin, size = one[2][axis], one[2][axis + 2] - one[2][axis]
        if not bands or begin + _OVERLAP * size >= end:
            bands.append([])
        bands[-1].append(one)
        end = max(end, begin + size) if len(bands[-1]) > 1 else begin + size
    return bands


def _add(draft: DocumentBuilder, shape: Any, parse: Callable[[bytes], Any]) -> None:
    for named in shape._element.iter(CHART, DIAGRAM):
        add_drawing(draft, named, lambda relation: parse(shape.part.related_part(relation).blob))
    if getattr(shape, "has_table", False):
        rows: list[list[str]] = []
        for row in shape.table.rows:
            above = dict(enumerate(rows[-1] if rows else ()))
            said = [(cell._tc.vMerge, _said(cell.text_frame, draft.omit)) for cell in row.cells]
            rows.append([repeated(above.get(at, "")) if below else text for at, (below, text) in enumerate(said)])
        add_rows(draft, rows)
    elif getattr(shape, "has_text_frame", False):
        lines = [*_lines(shape.text_frame.paragraphs, draft.omit)]
        if len(lines) > 1 and shape.is_placeholder and shape.placeholder_format.type.name in _POINTS:
            draft.paragraph("\n".join(f"{'  ' * level}{number or '-'} {text}" for text, level, number in lines))
        else:
            draft.paragraph("\n".join(f"{number} {text}" if number else text for text, _, number in lines))


def _lines(paragraphs: Iterable[Any], omit: Callable[[str], object]) -> Iterator[tuple[str, int, str]]:
    """Yields the paragraphs with text: (text, level, automatic number or nothing)."""
    last: dict[int, tuple[str, int]] = {}  # by level, the name of the numbers' form and the last number
    for one in paragraphs:
        if text := _text(one, omit).rstrip():
            found = one._p.find(f"{_A}pPr/{_A}buAutoNum")
            name, start = ("", "") if found is None else (found.get("type", ""), found.get("startAt", "1"))
            same, before = last.get(one.level, ("", 0))
            number = before + 1 if name == same else int(start) if start.isdecimal() and len(start) < 6 else 1
            last = {level: kept for level, kept in last.items() if level < one.level} | {one.level: (name, number)}
            form = next((form for end, form in _FORMS.items() if name.endswith(end)), "{}.")
            yield text, one.level, form.format(written(number, _KINDS.get(name[:7], "decimal"))) if name else ""


def _said(frame: Any, omit: Callable[[str], object]) -> str:
    return "\n".join(_text(one, omit) for one in frame.paragraphs)


def _text(paragraph: Any, omit: Callable[[str], object]) -> str:
    runs = [one for one in paragraph._p if one.tag in _RUNS]
    texts = [linear(one) if one.tag == _FORMULA else one.text or "" for one in runs]
    looks = [_look(one.find(f"{_A}rPr")) for one in runs]
    return shown(zip(texts, looks, strict=True), omit).replace("\v", "\n")


def _look(properties: Any) -> str:
    if properties is None:
        return ""
    height = properties.get("baseline", "0").rstrip("%")
    is_raised, is_lowered = height[:1] in tuple("123456789"), height[:1] == "-"
    is_struck = properties.get("strike", "noStrike") != "noStrike"
    return STRUCK if is_struck else RAISED if is_raised else LOWERED if is_lowered else ""
