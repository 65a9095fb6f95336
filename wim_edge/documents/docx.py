"""The reader of DOCX: paragraphs and tables in document order, then footnotes, comments, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from wim_edge.documents.archive import MALFORMED, Archive, is_on
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.drawings import CHART, DIAGRAM, Related, add_drawing
from wim_edge.documents.formats import DOCX, HTML, RTF
from wim_edge.documents.formulas import linear
from wim_edge.documents.numbering import Numbering, value_of, written
from wim_edge.documents.readers import document_of
from wim_edge.documents.rows import Span, add_rows, grid, repeated, span_of
from wim_edge.documents.runs import COMMENT, HIDDEN, RAISED, STRUCK, Look, height_of, in_font, name_of, shown, symbol
from wim_edge.errors import DocumentError

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE, _ROW, _CELL, _RUN, _BOX = (_W + tag for tag in ("p", "tbl", "tr", "tc", "r", "txbxContent"))
_PROPERTIES, _STYLE, _VALUE, *_HEIGHTS = (_W + tag for tag in ("rPr", "rStyle", "val", "vertAlign", "position"))
_TEXT, _SIGN, _FIELD, _SKIPPED, _CHUNK = (_W + tag for tag in ("t", "sym", "fldChar", "gridBefore", "altChunk"))
_FONTS, _ASCII = (_W + tag for tag in ("rFonts", "ascii"))
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CHUNKS = 100  # most embedded files
_WHOLE = frozenset({_PARAGRAPH, _TABLE, _CHUNK})
_PARAGRAPHS, _ROWS, _ROW_CELLS = frozenset({_PARAGRAPH}), frozenset({_ROW}), frozenset({_CELL})
_LONG, _MARGINS = 300, 216  # most letters of a cell beside one with a table; a cell's margins, in 1/20 of a point
_DONE = 1 << 40  # behind all text
_EMPTY = frozenset({_PROPERTIES, _FIELD, _W + "instrText", _W + "lastRenderedPageBreak"})
_DELETED = "deleted passage"
_CHANGED = frozenset({_W + "del", _W + "moveFrom"})
# A Fallback element repeats the content beside it. Moved text is read at its new place.
_HIDDEN = _CHANGED | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_CHARACTERS = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-", _W + "ptab": "\t"}
_FORMULA = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_FORMULAS = {_FORMULA: "{}", f"{_FORMULA}Para": "\n{}\n"}  # the latter are on lines of their own
_OF_TEXT = _CHANGED | {_RUN, _BOX, *_FORMULAS}
_SWITCHES = {_W + "strike": STRUCK, _W + "dstrike": STRUCK, _W + "vanish": HIDDEN}
_NUMBERED = {f"{_W}footnote": "decimal", f"{_W}endnote": "lowerRoman", f"{_W}comment": "lowerLetter"}
_REFERENCES = {f"{kind}Reference": kind for kind in _NUMBERED}
_HEADING = re.compile(r"(heading \d|title)\b", re.IGNORECASE)
_NOTES = {"footnotes": "Footnotes", "endnotes": "Endnotes", "comments": "Comments"}


def read_docx(archive: Archive, most: int = _CHUNKS) -> Document:
    """Returns a DOCX file's text. Headings become sections, table rows lines. Reads up to ``most`` embedded files."""
    draft = DocumentBuilder()
    draft.title = archive.title()
    part, body = archive.main
    relations = archive.related(part)
    named = [(kind, member) for kind, member in relations.values() if archive.has(member)]
    parts = {kind: archive.root(member) for kind, member in named if kind in ("styles", "numbering", *_NOTES)}
    margins = [archive.root(member) for kind, member in named if kind in ("header", "footer")]
    for mark in chain.from_iterable(root.iter(f"{_W}showingPlcHdr") for root in (body, *parts.values(), *margins)):
        if is_on(mark):
            draft.omit("unfilled field")
            for one in mark.getparent().getparent().iter(_TEXT):
                one.text = ""  # "Click here to enter text" is no value
    chunks = dict([(one, member) for one, (kind, member) in relations.items() if kind == "aFChunk"][:most])
    writer = _BodyWriter(draft, parts, lambda one: _embedded(archive, chunks.pop(one)))
    writer.add(body.find(f"{_W}body"), lambda one: archive.root(relations[one][1]))
    for kind, heading in _NOTES.items():
        if kind in parts:
            draft.mark(section=heading)
            writer.add(parts[kind])
    draft.margins(text for part in margins for text in writer.texts(part, _PARAGRAPHS))
    return draft.document(archive.name)


class _BodyWriter:
    """Adds the paragraphs and tables of a DOCX file's XML parts to a draft. Resolves styles and list numbers."""

    def __init__(self, draft: DocumentBuilder, parts: dict[str, Any], embedded: Callable[[str], Document]) -> None:
        self._draft, self._embedded, styles, lists = draft, embedded, parts.get("styles"), parts.get("numbering")
        self._styles = {} if styles is None else {one.get(f"{_W}styleId"): one for one in styles.iterfind(f"{_W}style")}
        self._numbering = None if lists is None else Numbering(lists, self._styles)
        self._looks: dict[str, Look] = {}  # by style id
        self._marks: dict[str, dict[str, str]] = {kind: {} for kind in _NUMBERED}  # of the notes, by id

    def add(self, root: Any, related: Related | None = None) -> None:
        for element in _walk(root, _WHOLE):
            if element.tag == _CHUNK:
                found = self._chunk(element)
                self._draft.paragraph(found.text, [(one.start, one.section) for one in found.marks if one.section])
            elif element.tag == _PARAGRAPH:
                boxes: list[Any] = []
                text = self._text(element, boxes)
                if _HEADING.match(value_of(self._styles.get(_style(element)), "name") or ""):
                    self._draft.mark(section=text)
                self._draft.paragraph(text)
                for box in boxes:
                    self.add(box)
                if related:
                    for named in _walk(element, {CHART, DIAGRAM}):
                        add_drawing(self._draft, named, related)
            elif _is_layout(cells := [[*_walk(row, _ROW_CELLS)] for row in _walk(element, _ROWS)]):
                for cell in chain.from_iterable(cells):
                    self.add(cell, related)
            else:
                add_rows(self._draft, self._rows(element))

    def _rows(self, table: Any) -> list[list[str]]:
        """Returns the texts of a table's cells by row. A short text that spans several rows is in each of them."""
        rows: list[list[str]] = []
        spans: list[list[Span]] = []
        widths = (one.get(f"{_W}w", "") for one in table.iterfind(f"{_W}tblGrid/{_W}gridCol"))
        lefts = accumulate(int(one) if one.isdecimal() else _MARGINS for one in widths)
        narrow = sum(left < _MARGINS for left in lefts)  # how many columns at the left only shift rows a little
        above: dict[int, str] = {}  # by column, the text of a cell that may continue below
        for row in _walk(table, _ROWS):
            if is_on(row.find(f"{_W}trPr/{_W}hidden")):
                self._draft.omit("hidden row")
                continue
            texts: list[str] = []
            over: list[Span] = []
            column, begun = 0, dict[int, str]()
            for cell in _walk(row, {_CELL, _SKIPPED}):
                merged = cell.find(f"{_W}tcPr/{_W}vMerge")
                span = span_of("1", value_of(cell.find(f"{_W}tcPr"), "gridSpan") or cell.get(_VALUE, ""))
                if merged is not None and merged.get(_VALUE) != "restart" and column in above:
                    text = above[column]
                else:
                    text = " ".join(" ".join(self.texts(cell, _WHOLE)).split())
                if merged is not None:
                    begun[column] = repeated(text)
                if cell.tag == _CELL or span[1] > narrow:
                    texts.append(text)
                    over.append(span)
                column += span[1]
            rows.append(texts)
            spans.append(over)
            above = begun
        return grid(rows, spans) if any(rows) else rows

    def texts(self, root: Any, wanted: Set[str]) -> Iterator[str]:
        """Yields the text of each element with a tag in ``wanted``. A paragraph's text boxes follow the paragraph."""
        for element in _walk(root, wanted):
            if element.tag == _CHUNK:
                yield self._chunk(element).text
            elif element.tag == _TABLE:
                rows = (" ".join(self.texts(row, wanted)).strip() for row in _walk(element, _ROWS))
                yield "; ".join(filter(None, rows))
            else:
                boxes: list[Any] = []
                yield self._text(element, boxes)
                for box in boxes:
                    yield from self.texts(box, wanted)

    def _chunk(self, element: Any) -> Document:
        """Returns an embedded file's document. An unreadable or already read file is noted; its document is empty."""
        try:
            found = self._embedded(element.get(_RELATION, ""))
        except (DocumentError, *MALFORMED):
            self._draft.omit("embedded file")
            return Document("", "")
        self._draft.notes += found.notes
        return found

    def _text(self, paragraph: Any, boxes: list[Any]) -> str:
        """Returns a paragraph's text, with its list number or note mark. Adds drawings and text boxes to ``boxes``."""
        own: list[tuple[str, str]] = []
        of_style = self._look_of(_style(paragraph))
        fields: list[int] = []  # where the code of each open field begins in ``own``; _DONE: its result has begun
        for element in _walk(paragraph, _OF_TEXT):
            if element.tag == _BOX:
                boxes.append(element)
            elif element.tag == _RUN:
                properties = element.find(_PROPERTIES)
                fonts = None if properties is None else properties.find(_FONTS)
                font = "" if fonts is None else fonts.get(_ASCII, "")
                look = name_of(of_style | self._switched(properties))  # a run overrides its paragraph
                for piece in element:
                    if piece.tag == _TEXT or piece.tag in _CHARACTERS:
                        own.append((_CHARACTERS.get(piece.tag) or in_font(font, piece.text or ""), look))
                    elif kind := _REFERENCES.get(piece.tag):
                        mark = f"[{written(len(self._marks[kind]) + 1, _NUMBERED[kind])}]"
                        mark = self._marks[kind].setdefault(piece.get(f"{_W}id", ""), mark)
                        own.append((mark, COMMENT if kind == f"{_W}comment" else RAISED))
                    elif piece.tag == _SIGN:
                        own.append((symbol(piece.get(f"{_W}font", ""), piece.get(f"{_W}char", "")), look))
                    elif (form := piece.find(f"{_W}ffData")) is not None:
                        own.append((_chosen(form), look))
                    elif piece.tag == f"{_W}ruby":
                        said, base = ("".join(piece.find(_W + part).itertext(_TEXT)) for part in ("rt", "rubyBase"))
                        own.append((f"{base}({said})", look))
                    elif piece.tag not in _EMPTY and element not in boxes[-1:]:
                        boxes.append(element)
                    if piece.tag == _FIELD:
                        kind = piece.get(f"{_W}fldCharType")
                        if kind != "begin":  # a code's text, such as the result of a field in it, is on no page
                            del own[fields.pop() if fields else 0 if kind == "separate" else _DONE :]
                        if kind != "end":
                            fields.append(len(own) if kind == "begin" else _DONE)
            elif element.tag in _FORMULAS:
                own.append((_FORMULAS[element.tag].format(linear(element)), ""))
            elif next(element.iter(f"{_W}delText", f"{_W}t"), None) is not None and element.tag == _W + "del":
                self._draft.omit(_DELETED)
        text = shown(own, self._draft.omit).replace("\u00ad", "").strip()
        label = self._numbering.label(paragraph) if self._numbering else ""
        if (note := paragraph.getparent()).tag in _NUMBERED and paragraph.getprevious() is None:
            label = self._marks[note.tag].get(note.get(f"{_W}id", ""), label)
        return f"{label} {text}" if label and text else text

    def _look_of(self, style: str) -> Look:
        """Returns the look (`runs.Look`) that the style with the id ``style`` sets, together with its base styles."""
        if style not in self._looks:
            self._looks[style] = {}  # ends a cycle of base styles
            if (found := self._styles.get(style)) is not None:
                above = self._look_of(value_of(found, "basedOn") or "")
                self._looks[style] = above | self._switched(found.find(_PROPERTIES))
        return self._looks[style]

    def _switched(self, properties: Any) -> Look:
        """Returns the look that a run's properties element, and the character style that it names, set; {} for None."""
        look: Look = {}
        for one in () if properties is None else properties:
            if one.tag == _STYLE:
                look = self._look_of(one.get(_VALUE, "")) | look
            elif one.tag in _HEIGHTS:
                look |= height_of(one.get(_VALUE, ""))
            elif what := _SWITCHES.get(one.tag):
                look[what] = is_on(one) or look.get(what, False)
        return look


def _embedded(archive: Archive, member: str) -> Document:
    """Returns an embedded DOCX, HTML, RTF or text file. Raises KeyError for other formats, and the reader's errors."""
    data, limits, ending = archive.read(member), archive.limits, Path(member).suffix.lower()
    limits = replace(limits, markup_bytes=limits.markup_bytes // 4, scan_pages=0)
    if ending in DOCX.endings:
        return read_docx(Archive(archive.name, data, limits), most=0)  # files in files could be without an end
    if ending not in (*HTML.endings, *RTF.endings, ".txt"):
        raise KeyError(member)
    return document_of(Path(member), data, limits)


def _chosen(form: Any) -> str:
    """Returns what a legacy form field shows: "☒" or "☐", its list's chosen entry, or "" for a text field."""
    if (box := form.find(f"{_W}checkBox")) is not None:
        return "☒" if any([is_on(one) for one in box if one.tag in (f"{_W}default", f"{_W}checked")][-1:]) else "☐"
    entries = {str(at): str(one.get(_VALUE, "")) for at, one in enumerate(form.iterfind(f"{_W}ddList/{_W}listEntry"))}
    chosen = [value_of(form.find(f"{_W}ddList"), name) for name in ("result", "default")]
    return entries.get(chosen[0] or chosen[1] or "0", "")


def _is_layout(rows: list[list[Any]]) -> bool:
    """Returns whether a table only positions text. With inner tables, it does if it has only one column, a cell of over
    300 characters, or an inner table in its first row. Without inner tables, it does if it has one cell."""
    inner = [[cell.find(_TABLE) is not None for cell in row] for row in rows]
    if not any(map(any, inner)):
        return sum(map(len, rows)) == 1
    is_long = any(len("".join(cell.itertext(_TEXT))) > _LONG for row in rows for cell in row)
    return is_long or max(map(len, rows)) == 1 or any(inner[0])


def _walk(root: Any, wanted: Set[str]) -> Iterator[Any]:
    """Yields the elements below ``root`` with a tag in ``wanted``. Does not look inside these, or in deleted text."""
    for element in root:
        if element.tag in wanted:
            yield element
        elif element.tag not in _HIDDEN and len(element):
            yield from _walk(element, wanted)


def _style(paragraph: Any) -> str:
    return value_of(paragraph.find(f"{_W}pPr"), "pStyle") or ""
