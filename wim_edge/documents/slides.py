"""The reader of PPTX: one page per slide, its shapes in reading order, with tables, charts, diagrams and notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from wim_edge.documents.archive import Archive, damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.drawings import CHART, DIAGRAM, FORMULA, add_drawing, text_of
from wim_edge.documents.numbering import written
from wim_edge.documents.rows import add_rows, repeated
from wim_edge.documents.segments import MONTH

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHAPE, _GROUP, *_ = _SHAPES = tuple(_P + tag for tag in ("sp", "grpSp", "graphicFrame", "cxnSp", "pic"))
_DEEP = 20  # most levels of nested groups, and of rows and columns
_OVERLAP = 0.1  # the part of a shape that may overlap the row or column before it
_DATE = re.compile(rf"(?=.{{1,24}}$)(?:.*\b(?:(?:19|20)\d\d|Q[1-4]|\d\d?[./]\d\d?)\b.*|.*\b{MONTH}.*)")
"""A date in a timeline: "2019", "Q3 2024", "12 May", "3.4."."""
_Box = tuple[float, ...]  # left, top, right and bottom on the slide; empty for a hidden shape
_Placed = tuple[int, Any, _Box]  # a shape, with its place in the file before it
_POINTS = ("body", "obj")
"""The placeholders of a slide whose paragraphs are bullet points."""
_KINDS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_FORMS = {"ParenBoth": "({})", "ParenR": "{})", "Plain": "{}"}
"""The kind of an automatic number, by the beginning of its name ("alphaLcParenR"), and the form, by the name's end."""


def read_pptx(archive: Archive) -> Document:
    """Returns the visible slides, each a page and a section with the slide's title. Raises DocumentError if damaged."""
    pptx, etree = require("pptx", archive.name), require("lxml.etree", archive.name)
    draft = DocumentBuilder()
    draft.title = archive.title()
    try:  # a `pptx.Presentation` is of no template and no show
        deck = pptx.package.Package.open(archive.copy()).main_document_part.presentation
        inherited: dict[Any, dict[str, _Box]] = {}
        for number, slide in enumerate(deck.slides, start=1):
            if slide._element.get("show") in ("0", "false"):
                draft.omit("hidden slide", f"page {number}")
                continue
            for choices in [*slide._element.iter("{*}AlternateContent")]:  # shapes may be in them
                for one in choices.findall("{*}Choice/*"):
                    choices.addprevious(one)
            layout = slide.slide_layout
            if layout.part not in inherited:
                inherited[layout.part] = {str(one.placeholder_format.idx): (one.left, one.top, one.width, one.height)
                                          for one in layout.placeholders}  # fmt: skip
            shapes = list[_Placed]()
            for at, (shape, box) in enumerate(_placed(slide.shapes._element, (0, 0, 1, 1), inherited[layout.part])):
                if next(shape.iter(f"{_A}t", FORMULA, CHART, DIAGRAM), None) is not None:
                    if box and box[0] < deck.slide_width and box[1] < deck.slide_height and min(box[2:]) > 0:
                        shapes.append((at, shape, box))
                    else:
                        draft.omit("hidden shape", f"page {number}")
            named = getattr(slide.shapes.title, "_element", None)
            title = [one for one in shapes if one[1] is named]
            draft.mark(page=number, section=_said(named, lambda _: None) if title else None)
            for _, shape, _ in title + _ordered([one for one in shapes if one not in title]):
                _add(draft, shape, slide.part, pptx.oxml.parse_xml)
            if slide.has_notes_slide and (notes := slide.notes_slide.notes_placeholder) is not None:
                said = _said(notes._element, draft.omit).strip()
                draft.paragraph(f"Notes: {said}" if said else "")
            comments = (one for one in slide.part.rels.values() if one.reltype.endswith("/comments"))
            for one in (one for part in comments for one in pptx.oxml.parse_xml(part.target_part.blob)):
                said = "".join(one.itertext(f"{_P}text", f"{_A}t")).strip()
                draft.paragraph(f"Comment: {said}" if said else "")
    except (pptx.exc.PythonPptxError, etree.LxmlError, OverflowError):
        raise damaged(archive.name) from None
    return draft.document(archive.name)


def _placed(tree: Any, frame: _Box, inherited: dict[str, _Box], depth: int = 0) -> Iterator[tuple[Any, _Box]]:
    """Yields (shape, box), also for shapes in groups. ``frame``: (left, top, x scale, y scale) of the coordinates; ()
    in a hidden group. ``inherited``: the layout's placeholders by index, each (left, top, width, height)."""
    for shape in tree.iterchildren(*_SHAPES):
        box, inner, is_group = _Box(), _Box(), shape.tag == _GROUP
        own = next(shape.iter(f"{_P}cNvPr"), shape)
        off = next((shape.grpSpPr if is_group else shape).iter(f"{_A}off"), None)
        if frame and own.get("hidden") not in ("1", "true"):
            named = next(shape.iter(f"{_P}ph"), None) if off is None else None
            size = (0, 0, 1, 1) if named is None else inherited.get(named.get("idx", "0"), (0, 0, 1, 1))
            size = size if off is None else (off.x, off.y, off.getnext().cx, off.getnext().cy)
            left, top = frame[0] + (size[0] or 0) * frame[2], frame[1] + (size[1] or 0) * frame[3]
            box = left, top, left + (size[2] or 1) * frame[2], top + (size[3] or 1) * frame[3]
            if is_group:
                begin, extent = shape.chOff, shape.chExt
                across = (box[2] - left) / extent.cx if extent.cx else frame[2]
                down = (box[3] - top) / extent.cy if extent.cy else frame[3]
                inner = left - begin.x * across, top - begin.y * down, across, down
        if is_group and depth < _DEEP:
            yield from _placed(shape, inner, inherited, depth + 1)
        else:
            yield shape, box


def _ordered(shapes: list[_Placed], depth: int = 0) -> list[_Placed]:
    """Returns shapes in reading order, row by row. If all rows have equally many columns, and the file lists the shapes
    by column, returns them column by column."""
    rows, columns = _bands(shapes, 1), _bands(shapes, 0)
    for at in range(len(rows) if depth < _DEEP else 0):
        if found := _timeline(rows, at):
            above, below = ([one for row in part for one in row if one not in found] for part in (rows[:at], rows[at:]))
            return [*_ordered(above, depth + 1), *found, *_ordered(below, depth + 1)]
    blocks = [[one for row in block for one in row] for _, block in groupby(rows, key=lambda row: len(_bands(row, 0)))]
    if len(blocks) == 1:
        in_file = sorted((one[0], column) for column, band in enumerate(columns) for one in band)
        n_runs = sum(1 for _ in groupby(in_file, key=lambda one: one[1]))
        blocks = columns if len(rows) == 1 or n_runs == len(columns) == len(_bands(rows[0], 0)) else rows
    if len(blocks) < 2 or depth == _DEEP:
        return sorted(shapes, key=lambda one: (one[2][1], one[2][0]))
    return [one for block in blocks for one in _ordered(block, depth + 1)]


def _timeline(rows: list[list[_Placed]], at: int) -> list[_Placed]:
    """Returns the shapes of a timeline, each date before its text. Returns [] if a shape in row ``at`` is no date, or
    if the row above, the row below, or both where they are about equally near, have no text of most dates."""
    dates, beside = rows[at], [*rows[max(0, at - 1) : at], *rows[at + 1 : at + 2]]
    if len(dates) < 2 or not all(_DATE.fullmatch(_said(one[1], lambda _: None).strip()) for one in dates):
        return []
    far = {id(row): abs(_middle(row[0], 1) - _middle(dates[0], 1)) for row in beside}
    beside.sort(key=lambda row: far[id(row)])
    both = [[*beside[0], *beside[1]]] if len(beside) > 1 and far[id(beside[1])] <= 2 * far[id(beside[0])] else []
    for texts in both + beside:
        own = {min(dates, key=lambda date: abs(_middle(date, 0) - _middle(text, 0)))[0]: text for text in texts}
        if len(own) == len(texts) > len(dates) / 2:
            return [one for date in dates for one in (date, own.get(date[0])) if one]
    return []


def _middle(shape: _Placed, axis: int) -> float:
    return (shape[2][axis] + shape[2][axis + 2]) / 2


def _bands(shapes: list[_Placed], axis: int) -> list[list[_Placed]]:
    """Returns shapes grouped into columns (``axis`` 0, from the left) or rows (``axis`` 1, from the top)."""
    bands: list[list[_Placed]] = []
    end = 0.0
    for one in sorted(shapes, key=lambda one: one[2][axis]):
        begin, size = one[2][axis], one[2][axis + 2] - one[2][axis]
        if not bands or begin + _OVERLAP * size >= end:
            bands.append([])
        bands[-1].append(one)
        end = max(end, begin + size) if len(bands[-1]) > 1 else begin + size
    return bands


def _add(draft: DocumentBuilder, shape: Any, part: Any, parse: Callable[[bytes], Any]) -> None:
    for named in shape.iter(CHART, DIAGRAM):
        add_drawing(draft, named, lambda relation: parse(part.related_part(relation).blob))
    rows: list[list[str]] = []
    for row in shape.iter(f"{_A}tr"):
        above = dict(enumerate(rows[-1] if rows else ()))
        said = [(cell.get("vMerge") in ("1", "true"), _said(cell, draft.omit)) for cell in row.iterchildren(f"{_A}tc")]
        rows.append([repeated(above.get(at, "")) if below else text for at, (below, text) in enumerate(said)])
    add_rows(draft, rows)
    if shape.tag == _SHAPE:
        lines, named = [*_lines(shape, draft.omit)], next(shape.iter(f"{_P}ph"), None)
        if len(lines) > 1 and named is not None and named.get("type", "obj") in _POINTS:
            draft.paragraph("\n".join(f"{'  ' * level}{number or '-'} {text}" for text, level, number in lines))
        else:
            draft.paragraph("\n".join(f"{number} {text}" if number else text for text, _, number in lines))


def _lines(shape: Any, omit: Callable[[str], object]) -> Iterator[tuple[str, int, str]]:
    """Yields (text, level, automatic number or "") for each paragraph of a shape that has text."""
    last: dict[int, tuple[str, int]] = {}  # by level, the name of the numbers' form and the last number
    for one in shape.iter(f"{_A}p"):
        if text := text_of(one, omit).rstrip():
            properties = one.find(f"{_A}pPr")
            level = 0 if properties is None else properties.lvl
            found = None if properties is None else properties.find(f"{_A}buAutoNum")
            name, start = ("", "") if found is None else (found.get("type", ""), found.get("startAt", "1"))
            same, before = last.get(level, ("", 0))
            number = before + 1 if name == same else int(start) if start.isdecimal() and len(start) < 6 else 1
            last = {at: kept for at, kept in last.items() if at < level} | {level: (name, number)}
            form = next((form for end, form in _FORMS.items() if name.endswith(end)), "{}.")
            yield text, level, form.format(written(number, _KINDS.get(name[:7], "decimal"))) if name else ""


def _said(shape: Any, omit: Callable[[str], object]) -> str:
    return "\n".join(text_of(one, omit) for one in shape.iter(f"{_A}p"))
