"""The reader of DOCX: paragraphs and tables in their order, footnotes and comments at the end.

The tree is walked here rather than through python-docx's paragraphs, which leave out tracked
insertions, content controls and text boxes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Container, Iterator
from typing import Any

from wim_edge.documents.archive import DAMAGE, Archive, damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.drawings import CHART, DIAGRAM, Related, add_drawing
from wim_edge.documents.limits import DEFAULTS
from wim_edge.documents.numbering import Numbering
from wim_edge.documents.rows import add_rows
from wim_edge.documents.spans import Span, grid, span_of
from wim_edge.settings import Limits

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL = _W + "p", _W + "tbl", _W + "tr", _W + "tc"
# A fallback repeats what stands beside it; moved and deleted text stands elsewhere or nowhere.
_HIDDEN = frozenset(
    {_W + "del", _W + "moveFrom", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
)
_CHARACTERS = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_TEXT = frozenset({_W + "t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"})
_HEADING = re.compile(r"(heading \d|title)\b", re.IGNORECASE)
_RELATIONS, _PICTURE = "word/_rels/document.xml.rels", re.compile(r"""\bTarget=["'](media/[^"'<>]{1,200})["']""")
_NOTES = {"footnotes": "Footnotes", "endnotes": "Endnotes", "comments": "Comments"}


def read_docx(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text of the body, then of the notes. Headings become sections; a table's row is one line."""
    docx = require("docx", name)
    etree = require("lxml.etree", name)
    Archive(name, data, limits).bound_markup(".xml", ".rels")
    draft = DocumentBuilder()
    library = (docx.exceptions.PythonDocxError, docx.opc.exceptions.OpcError, etree.LxmlError)
    try:
        word = docx.Document(io.BytesIO(_whole(data)))
        draft.title = word.core_properties.title or ""
        styles = {style.styleId or "": style.name_val or "" for style in word.styles.element.style_lst}
        parts = dict(_parts(docx, word, ("numbering", *_NOTES)))
        lists = parts.get("numbering")
        numbering = None if lists is None else Numbering(lists, word.styles.element)
        related = word.part.related_parts
        _add(draft, word.element.body, styles, numbering, lambda one: docx.oxml.parse_xml(related[one].blob))
        for kind, heading in _NOTES.items():
            if kind in parts:
                draft.mark(section=heading)
                _add(draft, parts[kind], {}, None, None)
        # A contract's number may stand there alone
        margins = [one for _, part in _parts(docx, word, ("header", "footer")) for one in _walk(part, {_PARAGRAPH})]
        lines = [text for one in margins for text in _texts(one, None) if text.strip()]
        if lines:
            draft.mark(section="Headers and footers")
            draft.paragraph("\n".join(dict.fromkeys(lines)))
    except (*library, *DAMAGE, AttributeError, TypeError, IndexError, RecursionError):
        # python-docx takes a package's structure for granted and stumbles where a part is missing
        # (or follows a chain of a thousand parts).
        raise damaged(name) from None
    return draft.document(name)


def _whole(data: bytes) -> bytes:
    """Returns the package with an empty member for each picture that its body names and that is not there: Word opens
    such a file, which python-docx does not."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = set(package.namelist())
        relations = package.read(_RELATIONS).decode("utf-8", "replace") if _RELATIONS in names else ""
    missing = {f"word/{target}" for target in _PICTURE.findall(relations)} - names
    if not missing:
        return data
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as package:
        for name in sorted(missing):
            package.writestr(name, b"")
    return out.getvalue()


def _parts(docx: Any, word: Any, kinds: Container[str]) -> Iterator[tuple[str, Any]]:
    """Yields the parts of these kinds beside the body, each with its kind."""
    for relation in word.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in kinds and not relation.is_external:
            yield kind, docx.oxml.parse_xml(relation.target_part.blob)


def _add(
    draft: DocumentBuilder, root: Any, styles: dict[str, str], numbering: Numbering | None, related: Related | None
) -> None:
    for element in _walk(root, {_PARAGRAPH, _TABLE}):
        if element.tag == _TABLE:
            add_rows(draft, _rows(element, numbering))
            continue
        for index, text in enumerate(_texts(element, numbering)):
            if index == 0 and _HEADING.match(styles.get(_style(element), "")):
                draft.mark(section=text)
            draft.paragraph(text)
        if related:
            for named in _walk(element, {CHART, DIAGRAM}):
                add_drawing(draft, named, related)


def _rows(table: Any, numbering: Numbering | None) -> list[list[str]]:
    """Returns the rows of a table; a cell over several rows stands in each of them."""
    rows: list[list[str]] = []
    spans: list[list[Span]] = []
    above: dict[int, tuple[int, int]] = {}  # by column, the row and the number of the cell that goes on below
    for row in _walk(table, {_ROW}):
        texts: list[str] = []
        over: list[Span] = []
        column, begun = 0, dict[int, tuple[int, int]]()
        for cell in _walk(row, {_CELL}):
            merged, wide = cell.find(f"{_W}tcPr/{_W}vMerge"), cell.find(f"{_W}tcPr/{_W}gridSpan")
            down, across = span_of("1", wide.get(_W + "val", "") if wide is not None else "")
            first = above.get(column) if merged is not None and merged.get(_W + "val") != "restart" else None
            if first is None:
                first = len(rows), len(texts)
                paragraphs = (text for one in _walk(cell, {_PARAGRAPH}) for text in _texts(one, numbering))
                texts.append(" ".join(" ".join(paragraphs).split()))
                over.append((down, across))
            else:
                down, across = spans[first[0]][first[1]]
                spans[first[0]][first[1]] = down + 1, across
            if merged is not None:
                begun[column] = first
            column += across
        rows.append(texts)
        spans.append(over)
        above = begun
    return grid(rows, spans) if any(rows) else rows


def _texts(paragraph: Any, numbering: Numbering | None) -> list[str]:
    """Returns a paragraph's own text with its number in a list, then that of the text boxes anchored in it."""
    own: list[str] = []
    boxes: list[str] = []
    for element in _walk(paragraph, {_PARAGRAPH, *_TEXT, *_CHARACTERS}):
        if element.tag == _PARAGRAPH:
            boxes.extend(_texts(element, numbering))
        else:
            own.append(_CHARACTERS.get(element.tag) or element.text or "")
    text, label = "".join(own).replace("\u00ad", "").strip(), numbering.label(paragraph) if numbering else ""
    return [f"{label} {text}" if label and text else text, *boxes]


def _walk(root: Any, wanted: set[str]) -> Iterator[Any]:
    """Yields the outermost elements of these kinds below ``root``, in document order."""
    branches = [iter(root)]
    while branches:
        element = next(branches[-1], None)
        if element is None:
            branches.pop()
        elif element.tag in wanted:
            yield element
        elif element.tag not in _HIDDEN:
            branches.append(iter(element))


def _style(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else style.get(_W + "val", "")
