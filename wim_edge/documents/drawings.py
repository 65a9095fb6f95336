"""Drawings of Office files: a chart becomes a table of its values, and a diagram (SmartArt) a list of its points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from wim_edge.documents.document import DocumentBuilder
from wim_edge.documents.formulas import linear
from wim_edge.documents.number_formats import shown
from wim_edge.documents.rows import add_rows
from wim_edge.documents.runs import STRUCK, height_of, in_font, name_of, shown as shown_runs
from wim_edge.errors import DocumentError

_OFFICE = "http://schemas.openxmlformats.org"
_C, _A, _D = (f"{{{_OFFICE}/drawingml/2006/{name}}}" for name in ("chart", "main", "diagram"))
_ID = f"{{{_OFFICE}/officeDocument/2006/relationships}}"
CHART, DIAGRAM = f"{_C}chart", f"{_D}relIds"
"""The tags of the elements that refer to a chart and to a diagram."""
FORMULA = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_RUNS = (f"{_A}r", f"{_A}br", f"{_A}fld", FORMULA)
_POINTS, _SERIES = 10_000, 100  # most points of a series, and most series of a chart
_DIGITS = 10  # an index with this many digits or more is invalid

Related = Callable[[str], Any]
"""A function from a relationship id to the root element of the XML part that it names. It may raise KeyError."""


def add_shapes(draft: DocumentBuilder, root: Any, related: Related) -> None:
    """Adds the text of a sheet's shapes and diagrams, and its charts' titles: the charts' values are in its cells."""
    hidden = [one.getparent().getparent() for one in root.iter("{*}cNvPr") if one.get("hidden") in ("1", "true")]
    for _ in filter(None, ([*one.iter(f"{_A}t", CHART, DIAGRAM)] for one in hidden)):
        draft.omit("hidden shape")
    for one in (*hidden, *root.iter("{*}Fallback")):  # the latter repeats the shapes beside it
        one.getparent().remove(one)
    for shape in root.iter("{*}txBody", CHART, DIAGRAM):
        if shape.tag in (CHART, DIAGRAM):
            add_drawing(draft, shape, related, of_sheet=True)
        else:
            draft.paragraph(said_in(shape, draft.omit))


def add_drawing(draft: DocumentBuilder, named: Any, related: Related, *, of_sheet: bool = False) -> None:
    """Adds the chart or diagram that ``named`` refers to, if readable. ``of_sheet``: of a chart, only the titles."""
    try:
        root = related(named.get(_ID + ("id" if named.tag == CHART else "dm"), ""))
    except (KeyError, SyntaxError, ValueError, DocumentError):
        return
    if named.tag == CHART and of_sheet:
        titles = (_text(one, draft.omit) or " ".join(one.itertext(f"{_C}v")) for one in root.iter(f"{_C}title"))
        draft.paragraph("\n".join(filter(None, titles)))
    elif named.tag == CHART:
        draft.paragraph(_text(root.find(f"{_C}chart/{_C}title"), draft.omit))
        series = list(root.iter(f"{_C}ser"))[:_SERIES]
        names = [next((value.text or "" for value in one.iterfind(f"{_C}tx//{_C}v")), "") for one in series]
        values = [_points(one, "val", "yVal") for one in series]
        of_all = {at: text for one in reversed(series) for at, text in _points(one, "cat", "xVal").items()}
        places = sorted({*of_all, *(at for one in values for at in one)})
        rows = [[of_all.get(at, ""), *(one.get(at, "") for one in values)] for at in places]
        add_rows(draft, [["", *names], *rows] if rows else [])
    else:
        draft.paragraph("\n".join(_points_of(root, draft.omit)))


def _points_of(root: Any, omit: Callable[[str], object]) -> Iterator[str]:
    """Yields a line for each point of a diagram, below the point to which it belongs. The file may have any order."""
    points = enumerate(root.iter(f"{_D}pt"))
    texts = {one.get("modelId", str(at)): _text(one.find(f"{_D}t"), omit) for at, one in points}
    links = [one for one in root.iter(f"{_D}cxn") if one.get("type", "parOf") == "parOf"]
    links.sort(key=lambda one: int(one.get("srcOrd", "0")), reverse=True)
    below, inner = defaultdict[str, list[str]](list), {one.get("destId", "") for one in links}
    for one in links:
        below[one.get("srcId", "")].append(one.get("destId", ""))
    waiting = [(name, 0) for name in texts][::-1]  # the next is the last
    waiting.sort(key=lambda one: one[0] not in inner)
    while waiting:
        name, level = waiting.pop()
        if text := texts.pop(name, ""):
            yield f"{'  ' * level}- {text}"
        waiting += [(one, level + bool(text)) for one in below.pop(name, ())]


def _points(series: Any, *kinds: str) -> dict[int, str]:
    """Returns {index: text} of the points in a chart's series, from its first child element in ``kinds``."""
    for kind in kinds:
        of_kind = series.find(f"{_C}{kind}")
        if of_kind is not None:
            form = next((one.text or "" for one in of_kind.iter(f"{_C}formatCode")), "")
            points = list(of_kind.iter(f"{_C}pt"))[:_POINTS]
            places = [(one.get("idx", ""), one.findtext(f"{_C}v") or "") for one in points]
            return {int(at): shown(value, form) for at, value in places if at.isdecimal() and len(at) < _DIGITS}
    return {}


def _text(element: Any, omit: Callable[[str], object]) -> str:
    """Returns the text of an element's paragraphs on one line; "" if the element is None."""
    return "" if element is None else " ".join(said_in(element, omit).split())


def said_in(shape: Any, omit: Callable[[str], object]) -> str:
    """Returns the `text_of` a shape's paragraphs, each on a line."""
    return "\n".join(text_of(one, omit) for one in shape.iter(f"{_A}p"))


def text_of(paragraph: Any, omit: Callable[[str], object]) -> str:
    """Returns a paragraph's text without struck-out passages. Calls ``omit`` with the kind of each passage."""
    return shown_runs(map(_run, paragraph.iterchildren(*_RUNS)), omit)


def _run(run: Any) -> tuple[str, str]:
    """Returns the (text, look) of a run, a line break, a field or a formula."""
    fonts = run.iterfind(f"{_A}rPr/*[@typeface]")
    font = next((one.get("typeface") for one in fonts if one.tag in (f"{_A}sym", f"{_A}latin")), "")
    text = linear(run) if run.tag == FORMULA else in_font(font, run.findtext(f"{_A}t") or "")
    own = getattr(run.find(f"{_A}rPr"), "attrib", {})
    look = {STRUCK: own.get("strike", "noStrike") != "noStrike", **height_of(own.get("baseline", ""))}
    return "\n" if run.tag == f"{_A}br" else text, name_of(look)
