"""The reader of XLSX: one section per sheet, one line per row, with values as the sheet shows them."""

from __future__ import annotations

import io
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from wim_edge.documents.archive import MALFORMED, SAFE, Archive, is_on
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.drawings import add_shapes
from wim_edge.documents.number_formats import MAX_FORM, shown
from wim_edge.documents.rows import Range, add_shown_rows, merge
from wim_edge.documents.runs import STRUCK, height_of, name_of, shown as shown_runs
from wim_edge.errors import DocumentError

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_CELL, _VALUE, _FORMULA, _INLINE, _RUN, _TEXT = (_S + tag for tag in ("c", "v", "f", "is", "r", "t"))
_COLUMNS, _MERGES, _TRUE = 1000, 10_000, ("1", "true")
_CELLS = 5_000_000
"""The most cells read in a workbook. Empty cells count: a million empty rows may be between two filled cells."""
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ROW, _COLUMN, _MERGED, _MARGINS = _PARTS = tuple(_S + tag for tag in ("row", "col", "mergeCell", "headerFooter"))
_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|\d+|[A-Z])', re.IGNORECASE)
"""A code in a header: a font, a colour, a size, or a letter for a page's number, a date and the like."""
_COMMENTS = ("comments", "threadedComment")
_LINK = re.compile(r'HYPERLINK\(\s*"([^"]*)"(?:\s*[,;]\s*"([^"]*)")?\s*\)', re.IGNORECASE)
Runs = list[tuple[str, str]]  # (text, look), for `wim_edge.documents.runs`


def read_xlsx(archive: Archive) -> Document:
    """Returns a workbook's visible sheets as sections. Formulas show saved values. Raises DocumentError if damaged."""
    draft = DocumentBuilder()
    draft.title = archive.title() or Path(archive.name).stem  # or a sheet's name would be the title
    part, root = archive.main
    relations = archive.related(part)
    book = _Book(draft, archive, relations, root)
    for sheet in root.find(f"{_S}sheets"):
        kind, member = next(relations[value] for key, value in sheet.items() if key.endswith("}id"))
        title = sheet.get("name", "")
        if sheet.get("state", "visible") != "visible":
            draft.omit("hidden sheet", title)
        elif kind in ("worksheet", "chartsheet"):
            draft.mark(section=title)
            if kind == "worksheet":
                book.add_sheet(title, archive.read(member))
            _add_drawings(draft, title, archive, member)
            _add_comments(draft, title, archive, member)
            if book.left <= 0:
                draft.notes.append(f"more than {_CELLS:,} cells: what follows on sheet {title} was not read")
                break
    draft.margins(book.margins)
    return draft.document(archive.name)


class _Book:
    """The workbook's texts and styles, which its sheets share. ``left``: how many more cells may be read."""

    def __init__(self, draft: DocumentBuilder, archive: Archive, relations: Any, root: Any) -> None:
        self._draft, self.left, self.margins, name = draft, _CELLS, list[str](), archive.name
        self._etree, self._dates = require("lxml.etree", name), require("openpyxl.utils.datetime", name)
        self._column = require("openpyxl.utils.cell", name).column_index_from_string
        properties = root.find(f"{_S}workbookPr")
        is_mac = properties is not None and properties.get("date1904") in _TRUE
        self._epoch = self._dates.MAC_EPOCH if is_mac else self._dates.WINDOWS_EPOCH
        shared = ("sharedStrings", "styles")
        parts = {kind: archive.root(member) for kind, member in relations.values() if kind in shared}
        self._strings = [_string(one) for one in parts.get("sharedStrings", ())]
        self._styles = _styles(parts["styles"], require("openpyxl.styles.numbers", name)) if "styles" in parts else []

    def add_sheet(self, title: str, markup: bytes) -> None:
        self._title, self._is_wider = title, False
        self._valueless: list[str] = []
        hidden: set[int] = set()
        rows: list[list[str] | None] = []
        merged: list[Range] = []
        width = 0
        for _, element in self._etree.iterparse(io.BytesIO(markup), tag=_PARTS, **SAFE):
            if element.tag == _COLUMN and (element.get("hidden") in _TRUE or element.get("width") == "0"):
                first, last = (int(element.get(end, "1")) for end in ("min", "max"))
                hidden.update(range(max(1, first), 1 + min(last, _COLUMNS)))
            elif element.tag == _MERGED and len(merged) < _MERGES:
                if found := _RANGE.fullmatch(element.get("ref", "")):
                    merged.append((self._column(found[1]), int(found[2]), self._column(found[3]), int(found[4])))
            elif element.tag == _MARGINS:
                parts = (part for one in element for part in re.split("&[LCR]", one.text or ""))
                self.margins += [_CODE.sub("", part).replace("&&", "&") for part in parts if "&P" not in part]
            elif element.tag == _ROW and self.left > 0:
                number = int(element.get("r") or len(rows) + 1)
                blank = min(number - len(rows) - 1, self.left)
                rows += [[]] * blank
                row = None if element.get("hidden") in _TRUE or element.get("ht") == "0" else self._row(element)
                if row is None and next(element.iter(_VALUE, _INLINE), None) is not None:
                    self._draft.omit("hidden row", f"{title}, row {number}")
                if row is not None:  # as wide as the rows above, until the next empty row
                    width = max(len(row), 0 if blank or not row else width)
                    row += [""] * (width - len(row))
                rows.append(row)
                self.left -= 1 + width + blank
                element.clear()
        merge(rows, merged)
        add_shown_rows(self._draft, rows, hidden, title, True)
        if self._valueless:
            many = f"{len(self._valueless):,} formula{'s' * (len(self._valueless) > 1)}"
            self._draft.notes.append(
                f"sheet {title}: no value was kept of {many} (first: {self._valueless[0]}); a spreadsheet "
                "program that opens and saves the file keeps them"
            )
        if self._is_wider:
            self._draft.notes.append(f"sheet {title}: what stands right of {_COLUMNS:,} columns was not read")

    def _row(self, row: Any) -> list[str]:
        texts: list[str] = []
        column = 0
        for cell in row:
            place = cell.get("r", "")
            found = _REFERENCE.fullmatch(place)
            column = self._column(found[1]) if found else column + 1
            text = self._cell(cell, place)
            if column > _COLUMNS:
                self._is_wider |= bool(text)
            elif text or column > len(texts):
                texts += [""] * (column - len(texts))
                texts[column - 1] = text
        return texts

    def _cell(self, cell: Any, place: str) -> str:
        kind, style = cell.get("t") or "n", int(cell.get("s") or 0)
        value: str | Runs = ""
        formula = ""
        for part in cell:
            if part.tag == _VALUE:
                value = part.text or ""
            elif part.tag == _FORMULA:
                formula = part.text or "shared"
            elif part.tag == _INLINE:
                kind, value = "is", _string(part)
        form, of_time, is_struck = self._styles[style] if style < len(self._styles) else ("", "", False)
        if not value:
            if link := _LINK.fullmatch(formula):
                return link[2] or link[1]
            if formula and kind != "str":
                self._valueless.append(place)
            return ""
        text = self._text(value, kind, form, of_time) if isinstance(value, str) and kind != "is" else value
        if isinstance(text, str) and not is_struck:
            return text
        runs = [(text, STRUCK)] if isinstance(text, str) else text
        return shown_runs(runs, lambda look: self._draft.omit(look, f"{self._title}, {place}"))

    def _text(self, value: str, kind: str, form: str, of_time: str) -> str | Runs:
        if kind == "s":
            return self._strings[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "d":
            return shown(self._dates.from_ISO8601(value), form)
        if kind != "n":
            return value
        if not of_time:
            return shown(float(value), form)
        try:
            return shown(self._dates.from_excel(float(value), self._epoch, timedelta=of_time == "length"), form)
        except (OverflowError, ValueError):
            return "#VALUE!"


def _add_drawings(draft: DocumentBuilder, title: str, archive: Archive, sheet: str) -> None:
    with suppress(DocumentError, *MALFORMED):  # there is none, or it is damaged
        member = next(one for kind, one in archive.related(sheet).values() if kind == "drawing")
        parts = archive.related(member)
        draft.mark(section=title)  # its lines are no rows
        add_shapes(draft, archive.root(member), lambda one: archive.root(parts[one][1]))


def _add_comments(draft: DocumentBuilder, title: str, archive: Archive, sheet: str) -> None:
    """Adds the comments on cells; a conversation (threaded comments) replaces the plain comment that repeats it."""
    said: dict[str, list[str]] = {}
    for kind in _COMMENTS:
        roots = [archive.root(member) for of, member in archive.related(sheet).values() if of == kind]
        found = [one for root in roots for one in root.iter("{*}comment", "{*}threadedComment")]
        said |= {one.get("ref", ""): [] for one in found}
        for one in found:
            said[one.get("ref", "")].append("".join(text.text or "" for text in one.iter(_TEXT, "{*}text")).strip())
    if said:
        draft.mark(section=f"{title}: comments")
    draft.paragraph("\n".join(f"{place}: {' '.join(text.split())}" for place, texts in said.items() for text in texts))


def _string(element: Any) -> str | Runs:
    """Returns a string element's text, or its runs (text, look) if letters are struck out, raised or lowered."""
    runs: Runs = []
    for part in element:
        if part.tag == _TEXT:
            runs.append((part.text or "", ""))
        elif part.tag == _RUN:
            height, strike = (part.find(f"{_S}rPr/{_S}{name}") for name in ("vertAlign", "strike"))
            look = name_of(height_of(height.get("val", ""))) if height is not None else ""
            runs.append((part.findtext(_TEXT) or "", STRUCK if is_on(strike) else look))
    if any("_x" in text for text, _ in runs):
        runs = [(_ESCAPED.sub(lambda code: chr(int(code[1], 16)), text), look) for text, look in runs]
    return runs if any(look for _, look in runs) else "".join(text for text, _ in runs)


def _styles(root: Any, numbers: Any) -> list[tuple[str, str, bool]]:
    """Returns (number format, kind of time, strikes text out) for each cell style; kind is "date", "length" or ""."""
    forms = dict(numbers.BUILTIN_FORMATS)
    forms |= {int(one.get("numFmtId", "0")): one.get("formatCode", "")[:MAX_FORM] for one in root.iter(f"{_S}numFmt")}
    fonts = [is_on(font.find(f"{_S}strike")) for font in root.iterfind(f"{_S}fonts/{_S}font")]
    found = []
    for one in root.iterfind(f"{_S}cellXfs/{_S}xf"):
        number, font = int(one.get("numFmtId", "0")), int(one.get("fontId", "0"))
        form = forms.get(number, "")
        kind = "length" if numbers.is_timedelta_format(form) else "date" if numbers.is_date_format(form) else ""
        form = "" if number in (14, 22) else form  # those that the system defines
        found.append((form, kind, font < len(fonts) and fonts[font]))
    return found
