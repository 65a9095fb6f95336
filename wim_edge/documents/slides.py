"""The reader of PPTX: one page per slide, from top to bottom, with tables, charts, diagrams and speaker notes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wim_edge.documents.archive import Archive, damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.drawings import CHART, DIAGRAM, add_drawing
from wim_edge.documents.rows import add_rows
from wim_edge.documents.runs import LOWERED, RAISED, STRUCK, shown

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DEEP = 20  # most levels of nested groups
_POINTS = ("BODY", "OBJECT", "VERTICAL_BODY", "VERTICAL_OBJECT")
"""The placeholders of a slide whose paragraphs are bullet points."""


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
            title = slide.shapes.title
            draft.mark(page=number, section=_said(title.text_frame, lambda _: None) if title is not None else None)
            for shape in _ordered(slide.shapes, title):
                _add(draft, shape, pptx.oxml.parse_xml)
            if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
                said = _said(notes, draft.omit).strip()
                draft.paragraph(f"Notes: {said}" if said else "")
    except (pptx.exc.PythonPptxError, etree.LxmlError):
        raise damaged(archive.name) from None
    return draft.document(archive.name)


def _ordered(shapes: Iterable[Any], title: Any) -> list[Any]:
    """Returns the shapes of a slide in reading order: its title, then by rows and columns."""
    first = title.shape_id if title is not None else None
    return sorted(_flat(shapes), key=lambda one: (one.shape_id != first, one.top or 0, one.left or 0))


def _flat(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _DEEP:
            yield from _flat(shape.shapes, depth + 1)
        else:
            yield shape


def _add(draft: DocumentBuilder, shape: Any, parse: Callable[[bytes], Any]) -> None:
    for named in shape._element.iter(CHART, DIAGRAM):
        add_drawing(draft, named, lambda relation: parse(shape.part.related_part(relation).blob))
    if getattr(shape, "has_table", False):
        add_rows(draft, ([_said(cell.text_frame, draft.omit) for cell in row.cells] for row in shape.table.rows))
    elif getattr(shape, "has_text_frame", False):
        given = [(_text(one, draft.omit).rstrip(), one.level) for one in shape.text_frame.paragraphs]
        lines = [(text, level) for text, level in given if text]
        if len(lines) > 1 and shape.is_placeholder and shape.placeholder_format.type.name in _POINTS:
            draft.paragraph("\n".join(f"{'  ' * level}- {text}" for text, level in lines))
        else:
            draft.paragraph("\n".join(text for text, _ in lines))


def _said(frame: Any, omit: Callable[[str], object]) -> str:
    return "\n".join(_text(one, omit) for one in frame.paragraphs)


def _text(paragraph: Any, omit: Callable[[str], object]) -> str:
    runs = [(run.text or "", _look(run.find(f"{_A}rPr"))) for run in paragraph._p.content_children]
    return shown(runs, omit).replace("\v", "\n")


def _look(properties: Any) -> str:
    if properties is None:
        return ""
    height = properties.get("baseline", "0").rstrip("%")
    is_raised, is_lowered = height[:1] in tuple("123456789"), height[:1] == "-"
    is_struck = properties.get("strike", "noStrike") != "noStrike"
    return STRUCK if is_struck else RAISED if is_raised else LOWERED if is_lowered else ""
