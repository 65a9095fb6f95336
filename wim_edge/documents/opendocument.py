"""The reader of OpenDocument: texts (ODT), sheets (ODS) and slides (ODP), which share their elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from wim_edge.documents.archive import DAMAGE, Archive, damaged, encrypted
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS
from wim_edge.documents.numbering import KINDS, written
from wim_edge.documents.rows import add_rows
from wim_edge.settings import Limits

CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"
_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_OFFICE, _TEXT, _TABLE, _DRAW, _STYLE = (_NAMES % name for name in ("office", "text", "table", "drawing", "style"))
_ITEM, _NOTE, _ROW = _TEXT + "list-item", _TEXT + "note", _TABLE + "table-row"
_PARAGRAPHS = (_TEXT + "p", _TEXT + "h")
_CELLS = (_TABLE + "table-cell", _TABLE + "covered-table-cell")
_DROPPED = frozenset(
    {_TEXT + "tracked-changes", _OFFICE + "annotation", _TABLE + "tracked-changes", _OFFICE + "forms"}
)
_SPOKEN = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}notes"
_CHARACTERS = {_TEXT + "tab": "\t", _TEXT + "line-break": "\n"}
_COLUMNS, _DEEP = 1000, 200
_REPEATED = 100_000
"""The most rows of a table that stand in its file once and are repeated, empty ones among them."""


def read_opendocument(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text with its headings, lists and tables; a sheet is a section, a slide a page. Raises
    DocumentError."""
    etree = require("lxml.etree", name)
    archive = Archive(name, data, limits)
    if _MANIFEST in archive.names and b"encryption-data" in archive.read(_MANIFEST):
        raise encrypted(name)
    draft = DocumentBuilder()
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        parts = [CONTENT, *(part for part in ("styles.xml", "meta.xml") if part in archive.names)]
        root, *others = (etree.fromstring(archive.read(part), parser) for part in parts)
        _ElementWriter(draft, (root, *others)).body(root.find(f"{_OFFICE}body"))
        found = next((one for root in others for one in root.iter("{http://purl.org/dc/elements/1.1/}title")), None)
        is_book = root.find(f"{_OFFICE}body/{_OFFICE}spreadsheet") is not None  # which no sheet names
        draft.title = (found.text if found is not None else None) or (Path(name).stem if is_book else "")
    except (etree.LxmlError, *DAMAGE, AttributeError, TypeError, RecursionError):
        raise damaged(name) from None
    return draft.document(name)


class _ElementWriter:
    def __init__(self, draft: DocumentBuilder, roots: Iterable[Any]) -> None:
        self._draft = draft
        self._styles = {
            style.get(f"{_TEXT}name", style.get(f"{_STYLE}name")): {
                level.get(f"{_TEXT}level"): level for level in style.iterfind(f"{_TEXT}list-level-style-number")
            }
            for root in roots for style in root.iter(f"{_TEXT}list-style")
        }  # fmt: skip
        """The numbered levels of the styles of lists, by their names."""
        self._notes: list[str] = []
        self._slides = 0

    def body(self, body: Any) -> None:
        self._add(body, 0)
        if self._notes:
            self._draft.mark(section="Notes")
        for note in self._notes:
            self._draft.paragraph(note)

    def _add(self, element: Any, depth: int) -> None:
        if depth > _DEEP:
            return
        for child in element:
            tag = child.tag
            if tag in _PARAGRAPHS:
                self._paragraph(child)
            elif tag == _TEXT + "list":
                self._list(child, depth, "", 1)
            elif tag == _TABLE + "table":
                self._table(child, is_sheet=element.tag == f"{_OFFICE}spreadsheet")
            elif tag == _DRAW + "page":
                self._slides += 1
                self._draft.mark(page=self._slides)
                self._add(child, depth + 1)
            elif tag == _SPOKEN:
                lines = [self._text(one, []).strip() for one in child.iter(*_PARAGRAPHS)]
                said = " ".join(line for line in lines if not line.isdecimal()).strip()  # one is the page's number
                self._draft.paragraph(f"Notes: {said}" if said else "")
            elif tag not in _DROPPED and isinstance(tag, str):
                self._add(child, depth + 1)

    def _paragraph(self, paragraph: Any, label: str = "") -> None:
        boxes: list[Any] = []
        text = self._text(paragraph, boxes).strip()
        if paragraph.tag == _TEXT + "h" and text:
            self._draft.mark(section=text)
        self._draft.paragraph(f"{label} {text}" if label and text else text)
        for box in boxes:
            self._add(box, 0)

    def _list(self, found: Any, depth: int, style: str, level: int) -> None:
        style = found.get(f"{_TEXT}style-name", style)
        form = self._styles.get(style, {}).get(str(level))
        first = 1 if form is None else _times(form, "start-value", _TEXT)
        for number, item in enumerate(found.iterfind(_ITEM), start=first):
            label = "-"
            if form is not None and (kind := KINDS.get(form.get(f"{_STYLE}num-format", ""))):
                before, after = (form.get(f"{_STYLE}num-{side}", "") for side in ("prefix", "suffix"))
                label = f"{before}{written(number, kind)}{after}".strip()
            for child in item:
                if child.tag in _PARAGRAPHS:
                    self._paragraph(child, label)
                    label = ""
                elif child.tag == _TEXT + "list" and depth < _DEEP:
                    self._list(child, depth + 1, style, level + 1)

    def _table(self, table: Any, *, is_sheet: bool) -> None:
        if is_sheet:
            self._draft.mark(section=table.get(f"{_TABLE}name"))
        add_rows(self._draft, self._rows(table), are_numbered=is_sheet)

    def _rows(self, table: Any) -> Iterator[list[str]]:
        left, blank, cut = _REPEATED, 0, set()
        for row in table.iter(_ROW):
            cells: list[str] = []
            for cell in row:
                if cell.tag in _CELLS:
                    text = " ".join(self._text(one, []) for one in cell.iter(*_PARAGRAPHS))
                    times = _times(cell, "number-columns-repeated")
                    room = _COLUMNS - len(cells)
                    cells += [text] * min(times, room)
                    if text and times > room:
                        cut.add(f"what stands right of {_COLUMNS:,} columns was not read")
            wanted = _times(row, "number-rows-repeated")
            times = min(wanted, 1 + left)
            if not any(cells):  # a sheet ends with a million of them
                blank = min(blank + times, left)
                continue
            if times < wanted:
                cut.add(f"a row is repeated more than {times:,} times, and was read so often")
            yield from [[]] * blank
            yield from [cells] * times
            left, blank = left - blank - times + 1, 0
        name = table.get(f"{_TABLE}name") or "of no name"
        self._draft.notes += [f"table {name}: {what}" for what in sorted(cut)]

    def _text(self, element: Any, boxes: list[Any]) -> str:
        """Returns the element's own text; frames that are anchored in it go to ``boxes``, notes to the end."""
        pieces = [element.text or ""]
        for child in element:
            if child.tag == _NOTE:
                self._notes.append(" ".join(self._text(one, []) for one in child.iter(_TEXT + "p")))
            elif child.tag == _TEXT + "s":
                pieces.append(" " * min(_times(child, "c", _TEXT), _COLUMNS))
            elif child.tag in _CHARACTERS:
                pieces.append(_CHARACTERS[child.tag])
            elif isinstance(child.tag, str) and child.tag.startswith(_DRAW):
                boxes.append(child)
            elif child.tag not in _DROPPED and isinstance(child.tag, str):
                pieces.append(self._text(child, boxes))
            pieces.append(child.tail or "")
        return "".join(pieces)


def _times(element: Any, name: str, space: str = _TABLE) -> int:
    value = element.get(f"{space}{name}", "1")
    return max(1, int(value)) if value.isdecimal() and len(value) < 10 else 1
