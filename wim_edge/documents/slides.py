"""The reader of PPTX: one page per slide, its shapes in reading order, with tables, charts, diagrams and notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from itertools import groupby
from math import inf
from typing import Any

from wim_edge.documents.archive import Archive
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.drawings import CHART, DIAGRAM, FORMULA, Related, add_drawing, said_in, text_of
from wim_edge.documents.numbering import integer, written
from wim_edge.documents.rows import add_rows, merge, span_of
from wim_edge.documents.segments import MONTH

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHAPE, _GROUP, *_ = _SHAPES = tuple(_P + tag for tag in ("sp", "grpSp", "graphicFrame", "cxnSp", "pic"))
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_DIGITS = 15  # most digits of a length
_YES, _NO = ("1", "true"), ("0", "false")
_LEVELS = 8  # most levels of indentation
_DEEP = 20  # most levels of nested groups, and of rows and columns
_OVERLAP = 0.1  # the part of a shape that may overlap the row or column before it
_DATE = re.compile(rf"(?=.{{1,24}}$)(?:.*\b(?:(?:19|20)\d\d|Q[1-4]|\d\d?[./]\d\d?)\b.*|.*\b{MONTH}.*)")
"""A date in a timeline: "2019", "Q3 2024", "12 May", "3.4."."""
_Box = tuple[float, ...]  # left, top, right and bottom on the slide; () for a hidden shape
_Placed = tuple[int, Any, _Box]  # a shape, with its place in the file before it
_POINTS = ("body", "obj")
"""The placeholders of a slide whose paragraphs are bullet points."""
_OF_MASTER = {**{kind: kind for kind in ("title", "dt", "ftr", "sldNum")}, "ctrTitle": "title"}
"""The kind of a master's placeholder from which a layout's inherits, by the kind of that; "body" for all others."""
_KINDS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_FORMS = {"ParenBoth": "({})", "ParenR": "{})", "Plain": "{}"}
"""The kind of an automatic number, by the beginning of its name ("alphaLcParenR"), and the form, by the name's end."""


def read_pptx(archive: Archive) -> Document:
    """Returns the visible slides, each a page and a section with the slide's title. Raises DocumentError if damaged."""
    draft = DocumentBuilder()
    draft.title = archive.title()
    part, deck = archive.main
    relations, size = archive.related(part), deck.find(f"{_P}sldSz")
    edges = [inf, inf] if size is None else [int(size.get(side)[:_DIGITS]) for side in ("cx", "cy")]
    sizes_of = lru_cache(None)(lambda layout: _sizes(archive, layout))
    for number, named in enumerate(deck.iterfind(f"{_P}sldIdLst/{_P}sldId"), start=1):
        member = relations[named.get(_ID)][1]
        slide, related = archive.root(member), archive.related(member)
        if slide.get("show") in _NO:
            draft.omit("hidden slide", f"page {number}")
            continue
        for choices in [*slide.iter("{*}AlternateContent")]:  # shapes may be in them
            for one in choices.findall("{*}Choice/*"):
                choices.addprevious(one)
        parts = dict(related.values())
        shapes, tree = list[_Placed](), slide.find(f"{_P}cSld/{_P}spTree")
        for at, (shape, box) in enumerate(_placed(tree, (0, 0, 1, 1), sizes_of(parts.get("slideLayout", "")))):
            if next(shape.iter(f"{_A}t", FORMULA, CHART, DIAGRAM), None) is not None:
                if box and box[0] < edges[0] and box[1] < edges[1] and min(box[2:]) > 0:
                    shapes.append((at, shape, box))
                else:
                    draft.omit("hidden shape", f"page {number}")
        named = next((one for one in tree.iterchildren(*_SHAPES) if _holder(one).get("idx", "0") == "0"), None)
        title = [one for one in shapes if one[1] is named]
        draft.mark(page=number, section=said_in(named, lambda _: None) if title else None)
        rest = [one for one in shapes if one not in title]
        dates = {at for at, shape, _ in rest if _DATE.fullmatch(said_in(shape, lambda _: None).strip())}
        for _, shape, _ in title + _ordered(rest, dates):
            _add(draft, shape, lambda one: archive.root(related[one][1]))  # noqa: B023 - called at once
        for kind in filter(parts.__contains__, ("notesSlide", "comments")):
            root = archive.root(parts[kind])
            for shape in root.iter(_SHAPE):
                if _holder(shape).get("type") == "body" and (said := said_in(shape, draft.omit).strip()):
                    draft.paragraph(f"Notes: {said}")
            for comment in root.iterchildren("{*}cm"):
                if said := "".join(comment.itertext(f"{_P}text", f"{_A}t")).strip():
                    draft.paragraph(f"Comment: {said}")
    return draft.document(archive.name)


def _holder(shape: Any) -> Mapping[str, str]:
    """Returns the attributes of a shape's placeholder element; without such an element, {"idx": ""}."""
    found = next(shape.iter(f"{_P}ph"), None) if shape.tag != _GROUP else None
    return {"idx": ""} if found is None else found.attrib


def _sizes(archive: Archive, layout: str) -> dict[str, _Box]:
    """Returns the `_size` of a layout's placeholders by index. Those without one have that of their kind's master."""
    masters = (one for kind, one in archive.related(layout).values() if kind == "slideMaster")
    sizes = dict[str, _Box]()
    for member, name in [*((one, "type") for one in masters), (layout, "idx")] if layout else ():
        for shape in archive.root(member).iter(*_SHAPES):
            holder = _holder(shape)
            kind = _OF_MASTER.get(holder.get("type", ""), "body")
            sizes[kind if name == "type" else holder.get(name, "0")] = _size(shape) or sizes.get(kind, ())
    return sizes


def _size(element: Any, name: str = "off") -> _Box:
    """Returns (left, top, width, height) of a shape as the file states them; () if it does not."""
    off = next(element.iter(f"{_A}{name}"), None)
    places = () if off is None else (off.get("x"), off.get("y"), off.getnext().get("cx"), off.getnext().get("cy"))
    return tuple(int(one[:_DIGITS]) for one in places)


def _placed(tree: Any, frame: _Box, inherited: Mapping[str, _Box], depth: int = 0) -> Iterator[tuple[Any, _Box]]:
    """Yields (shape, box), also for shapes in groups. ``frame``: (left, top, x scale, y scale) of the coordinates; ()
    in a hidden group. ``inherited``: the `_size` of the layout's placeholders by index."""
    for shape in tree.iterchildren(*_SHAPES):
        box, inner, is_group = _Box(), _Box(), shape.tag == _GROUP
        own = shape.find(f"{_P}grpSpPr") if is_group else shape
        if frame and next(shape.iter(f"{_P}cNvPr"), shape).get("hidden") not in _YES:
            size = _size(own) or inherited.get(_holder(shape).get("idx", "0")) or (0, 0, 1, 1)
            left, top = frame[0] + size[0] * frame[2], frame[1] + size[1] * frame[3]
            box = left, top, left + (size[2] or 1) * frame[2], top + (size[3] or 1) * frame[3]
            if is_group:
                begin = _size(own, "chOff") or (0, 0, 0, 0)
                across = (box[2] - left) / begin[2] if begin[2] else frame[2]
                down = (box[3] - top) / begin[3] if begin[3] else frame[3]
                inner = left - begin[0] * across, top - begin[1] * down, across, down
        if is_group and depth < _DEEP:
            yield from _placed(shape, inner, inherited, depth + 1)
        else:
            yield shape, box


def _ordered(shapes: list[_Placed], dates: Set[int], depth: int = 0) -> list[_Placed]:
    """Returns shapes row by row, or by column if all rows have equally many and the file lists the shapes so.
    ``dates``: the places in the file of the shapes that are dates."""
    rows, columns = _bands(shapes, 1), _bands(shapes, 0)
    for at in range(len(rows) if dates and depth < _DEEP else 0):
        if found := _timeline(rows, at, dates):
            above, below = ([one for row in part for one in row if one not in found] for part in (rows[:at], rows[at:]))
            return [*_ordered(above, dates, depth + 1), *found, *_ordered(below, dates, depth + 1)]
    blocks = [[one for row in block for one in row] for _, block in groupby(rows, key=lambda row: len(_bands(row, 0)))]
    if len(blocks) == 1:
        in_file = sorted((one[0], column) for column, band in enumerate(columns) for one in band)
        n_runs = sum(1 for _ in groupby(in_file, key=lambda one: one[1]))
        blocks = columns if len(rows) == 1 or n_runs == len(columns) == len(_bands(rows[0], 0)) else rows
    if len(blocks) < 2 or depth == _DEEP:
        return sorted(shapes, key=lambda one: (one[2][1], one[2][0]))
    return [one for block in blocks for one in _ordered(block, dates, depth + 1)]


def _timeline(rows: list[list[_Placed]], at: int, named: Set[int]) -> list[_Placed]:
    """Returns the shapes of a timeline, each date before its text. Returns [] if a shape in row ``at`` is no date, or
    if the row above, the row below, or both where they are about equally near, have no text of most dates."""
    dates, beside = rows[at], [*rows[max(0, at - 1) : at], *rows[at + 1 : at + 2]]
    if len(dates) < 2 or not all(one[0] in named for one in dates):
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


def _add(draft: DocumentBuilder, shape: Any, related: Related) -> None:
    for named in shape.iter(CHART, DIAGRAM):
        add_drawing(draft, named, related)
    table = [[*row.iterchildren(f"{_A}tc")] for row in shape.iter(f"{_A}tr")]
    rows = [["" if one.get("vMerge") in _YES else said_in(one, draft.omit) for one in row] for row in table]
    for number, row in enumerate(table, 1):
        spans = [span_of(one.get("rowSpan", ""), one.get("gridSpan", "")) for one in row]
        merge(rows, [(at, number, at + across - 1, number + down - 1) for at, (down, across) in enumerate(spans, 1)])
    add_rows(draft, rows)
    if shape.tag == _SHAPE:
        lines, holder = [*_lines(shape, draft.omit)], _holder(shape)
        if len(lines) > 1 and holder.get("idx") != "" and holder.get("type", "obj") in _POINTS:
            draft.paragraph("\n".join(f"{'  ' * level}{number or '-'} {text}" for text, level, number in lines))
        else:
            draft.paragraph("\n".join(f"{number} {text}" if number else text for text, _, number in lines))


def _lines(shape: Any, omit: Callable[[str], object]) -> Iterator[tuple[str, int, str]]:
    """Yields (text, level, automatic number or "") for each paragraph of a shape that has text."""
    last: dict[int, tuple[str, int]] = {}  # by level, the name of the numbers' form and the last number
    for one in shape.iter(f"{_A}p"):
        if text := text_of(one, omit).rstrip():
            properties = one.find(f"{_A}pPr")
            level = 0 if properties is None else min(integer(properties.get("lvl", "")), _LEVELS)
            found = None if properties is None else properties.find(f"{_A}buAutoNum")
            name, start = ("", "") if found is None else (found.get("type", ""), found.get("startAt", "1"))
            same, before = last.get(level, ("", 0))
            number = before + 1 if name == same else integer(start, 1)
            last = {at: kept for at, kept in last.items() if at < level} | {level: (name, number)}
            form = next((form for end, form in _FORMS.items() if name.endswith(end)), "{}.")
            yield text, level, form.format(written(number, _KINDS.get(name[:7], "decimal"))) if name else ""
