"""The reader of OpenDocument: texts (ODT), sheets (ODS) and slides (ODP), which share their XML elements."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wim_edge.documents.archive import Archive, encrypted
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.formulas import linear
from wim_edge.documents.number_formats import shown as shown_number
from wim_edge.documents.numbering import KINDS, written
from wim_edge.documents.rows import Range, add_shown_rows, merge
from wim_edge.documents.runs import BESIDE, COMMENT, HIDDEN, RAISED, STRUCK, Look, height_of, name_of, shown

CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"
_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_OFFICE, _TEXT, _TABLE, _DRAW, _STYLE = (_NAMES % name for name in ("office", "text", "table", "drawing", "style"))
_ITEM, _NOTE, _RUBY, _ROW = _TEXT + "list-item", _TEXT + "note", _TEXT + "ruby-text", _TABLE + "table-row"
_MARGINS = tuple(f"{_STYLE}{end}{kind}" for end in ("header", "footer") for kind in ("", "-first", "-left"))
_PARAGRAPHS = (_TEXT + "p", _TEXT + "h")
_CELLS = (_TABLE + "table-cell", _TABLE + "covered-table-cell")
_COMMENT, _FORMAT = _OFFICE + "annotation", _STYLE + "num-format"
_CHAPTERS, _OUTLINE, _UNNUMBERED = _TEXT + "outline-style", "Outline", "without a chapter's number"
_DROPPED = {_TEXT + "tracked-changes", _TABLE + "tracked-changes", _OFFICE + "forms", _TEXT + "number"}
_LINK, _ID = "{http://www.w3.org/1999/xlink}href", "{http://www.w3.org/XML/1998/namespace}id"
_PLACEHOLDER = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}showing-place-holder"
_LINES_THROUGH = (f"{_STYLE}text-line-through-style", f"{_STYLE}text-line-through-type")
_SPOKEN = _NAMES % "presentation" + "notes"
_CHARACTERS = {_TEXT + "tab": "\t", _TEXT + "line-break": "\n"}
_UNSEEN = {f"{_TABLE}display": "false", f"{_TEXT}display": "none", _NAMES % "presentation" + "visibility": "hidden"}
"""The values of style properties that hide an element from the page."""
_FAMILIES = {
    _TEXT + "p": ("paragraph", _TEXT + "style-name"), _TEXT + "h": ("paragraph", _TEXT + "style-name"),
    _TEXT + "span": ("text", _TEXT + "style-name"), _TABLE + "table": ("table", _TABLE + "style-name"),
    _DRAW + "page": ("drawing-page", _DRAW + "style-name"),
    **dict.fromkeys(_CELLS, ("table-cell", _TABLE + "style-name")),
    **dict.fromkeys((_TABLE + "table-column", _ROW), ("table-cell", _TABLE + "default-cell-style-name")),
}  # fmt: skip
"""The family of an element's style and the attribute that names the style, by the element's tag."""
_VISIBILITY, _NOT_SHOWN = _TABLE + "visibility", ("collapse", "filter")
_FORMS = {"float": "", "currency": "", "percentage": "0.##%"}
"""The number formats by the types of values that are numbers."""
_DURATION = re.compile(r"PT(\d+)H(\d+)M.*")
_COLUMNS, _DEEP, _LEVELS = 1000, 200, 10
_REPEATED, _ROW_CHARS = 100_000, 50
"""The most repeated and empty rows read of a table. A repeated row counts once more per ``_ROW_CHARS`` characters."""


def read_opendocument(archive: Archive) -> Document:
    """Returns an OpenDocument file's text. A sheet is a section, a slide a page. Raises DocumentError if encrypted."""
    if _MANIFEST in archive.names and b"encryption-data" in archive.read(_MANIFEST):
        raise encrypted(archive.name)
    draft = DocumentBuilder()
    root, *others = (archive.root(part) for part in (CONTENT, "styles.xml") if part in archive.names)
    _ElementWriter(draft, archive, [root, *others]).body(root.find(f"{_OFFICE}body"))
    is_book = root.find(f"{_OFFICE}body/{_OFFICE}spreadsheet") is not None  # or a sheet's name would be the title
    draft.title = archive.title("meta.xml") or (Path(archive.name).stem if is_book else "")
    return draft.document(archive.name)


class _ElementWriter:
    def __init__(self, draft: DocumentBuilder, archive: Archive, roots: list[Any]) -> None:
        self._draft, self._archive, self._roots = draft, archive, roots
        self._looks: dict[tuple[str, str], Look] = {}
        self._styles = {
            (one.get(f"{_STYLE}family", ""), one.get(f"{_STYLE}name", "")): one
            for root in reversed(roots) for one in root.iter(f"{_STYLE}style")
        }  # fmt: skip
        """The style elements by (family, name)."""
        self._lists = {
            _OUTLINE if style.tag == _CHAPTERS else style.get(f"{_TEXT}name", style.get(f"{_STYLE}name")): {
                _times(level, "level", _TEXT): level for level in style.iterfind("*") if level.get(_FORMAT) is not None
            }
            for root in roots for style in root.iter(f"{_TEXT}list-style", _CHAPTERS)
        }  # fmt: skip
        """The list styles by name, each with its numbered levels' elements by level (1 is the outermost)."""
        self._counts: dict[str, dict[int, int]] = {}  # counters by level, by a list's id or its style
        self._notes: dict[str, list[str]] = {"Notes": [], "Comments": []}
        self._slides = 0

    def body(self, body: Any) -> None:
        self._add(body, 0)
        for heading, notes in self._notes.items():
            if notes:
                self._draft.mark(section=heading)
            for note in notes:
                self._draft.paragraph(note)
        if body.find(f"{_OFFICE}text") is not None:  # a sheet's headers only have names and page numbers
            margins = (margin for root in self._roots for margin in root.iter(*_MARGINS))
            self._draft.margins(self._text(one, []) for margin in margins for one in margin.iter(*_PARAGRAPHS))

    def _add(self, element: Any, depth: int) -> None:
        if depth > _DEEP:
            return
        for child in element:
            tag = child.tag
            if HIDDEN in self._look(child, {}) or child.get(f"{_TEXT}display") == "none":
                is_sheet = element.tag == f"{_OFFICE}spreadsheet"
                what = "hidden sheet" if is_sheet else "hidden slide" if tag == _DRAW + "page" else HIDDEN
                self._slides += tag == _DRAW + "page"
                if next((text for text in child.itertext() if text.strip()), ""):
                    self._draft.omit(what, child.get(f"{_TABLE}name") or child.get(f"{_DRAW}name"))
            elif tag in _PARAGRAPHS:
                self._paragraph(child)
            elif tag == _TEXT + "list":
                self._list(child, depth, "", 1)
            elif tag == _TABLE + "table":
                self._table(child, depth, is_sheet=element.tag == f"{_OFFICE}spreadsheet")
            elif tag == _DRAW + "page":
                self._slides += 1
                self._draft.mark(page=self._slides)
                self._add(child, depth + 1)
            elif tag == _SPOKEN:
                lines = [self._text(one, []).strip() for one in child.iter(*_PARAGRAPHS)]
                said = " ".join(line for line in lines if not line.isdecimal()).strip()  # the page number is a line too
                self._draft.paragraph(f"Notes: {said}" if said else "")
            elif tag not in _DROPPED and isinstance(tag, str):
                self._add(child, depth + 1)

    def _paragraph(self, paragraph: Any, label: str | None = None) -> None:
        boxes: list[Any] = []
        text = self._text(paragraph, boxes).strip()
        is_heading = paragraph.tag == _TEXT + "h" and text
        if is_heading and label is None and not self._look(paragraph, {}).get(_UNNUMBERED):
            level = min(_times(paragraph, "outline-level", _TEXT), _LEVELS)
            label = self._label(_OUTLINE, level, self._counts.setdefault(_OUTLINE, {}), paragraph)
        label = label or paragraph.findtext(_TEXT + "number", "")
        text = f"{label} {text}" if label and text else text
        if is_heading:
            self._draft.mark(section=text)
        self._draft.paragraph(text)
        for box in boxes:
            self._add(box, 0)

    def _list(self, found: Any, depth: int, style: str, level: int, counts: dict[int, int] | None = None) -> None:
        style = found.get(f"{_TEXT}style-name", style)
        if counts is None:
            before = style if found.get(f"{_TEXT}continue-numbering") == "true" else ""
            counts = self._counts.get(found.get(f"{_TEXT}continue-list", before), {})
            self._counts[found.get(_ID, style)] = self._counts[style] = counts
        for item in found.iterchildren(_ITEM, _TEXT + "list-header"):
            is_labelled = item.tag == _ITEM
            for child in item:
                if child.tag in _PARAGRAPHS:
                    self._paragraph(child, (self._label(style, level, counts, item) or "-") if is_labelled else "")
                    is_labelled = False
                elif child.tag == _TEXT + "list" and depth < _DEEP:
                    self._list(child, depth + 1, style, level + 1, counts)

    def _label(self, style: str, level: int, counts: dict[int, int], item: Any) -> str:
        """Advances the counter of a list's level. Returns the item's label ("4.2", "(b)"), or "" for bullets."""
        levels = self._lists.get(style, {})
        for at in [one for one in counts if one > level]:
            del counts[at]
        if (form := levels.get(level)) is None:
            return ""
        for at in range(1, level + 1):
            first = _times(levels.get(at, form), "start-value", _TEXT, 0)
            counts[at] = counts[at] + (at == level) if at in counts else first
        counts[level] = _times(item, "start-value", _TEXT, 0) if item.get(f"{_TEXT}start-value") else counts[level]
        shown = range(max(1, level + 1 - _times(form, "display-levels", _TEXT)), level + 1)
        kinds = [(at, KINDS.get(levels[at].get(_FORMAT))) for at in shown if at in levels]
        number = ".".join(written(counts[at], kind) for at, kind in kinds if kind)
        before, after = (form.get(f"{_STYLE}num-{side}", "") for side in ("prefix", "suffix"))
        return f"{before}{number}{after}".strip() if kinds[-1][1] else ""

    def _table(self, table: Any, depth: int, *, is_sheet: bool) -> None:
        if is_sheet:
            self._draft.mark(section=table.get(f"{_TABLE}name"))
        elif len(list(table.iter(*_CELLS))) == 1 or table.find(f".//{_TABLE}table") is not None:
            self._add(table, depth + 1)  # a layout table: it only positions text
            return
        name = table.get(f"{_TABLE}name") or "of no name"
        columns: list[Any] = []
        for column in table.iter(f"{_TABLE}table-column"):
            columns += [column] * min(_times(column, "number-columns-repeated"), _COLUMNS - len(columns))
        hidden = {at for at, one in enumerate(columns, 1) if one.get(_VISIBILITY) in _NOT_SHOWN}
        self._merged, self._headed = list[Range](), 0
        self._apart = (_NOTE, _COMMENT, *[f"{_DRAW}*"] * is_sheet)  # what is in cells, but not in their texts
        rows = list(self._rows(table, name, columns))
        merge(rows, self._merged)
        add_shown_rows(self._draft, rows, hidden, name, is_sheet, self._headed * is_sheet)
        for one in table.iter(f"{_DRAW}*") if is_sheet else ():
            if next(one.iterancestors(f"{_DRAW}*"), None) is None:  # it lies on the sheet
                self._add(one, depth + 1)

    def _rows(self, table: Any, name: str, columns: list[Any]) -> Iterator[list[str] | None]:
        """Yields each row's cell texts, as often as the file has the row; [] for empty rows, None for hidden ones."""
        left, waiting, cut, number = _REPEATED, list[list[str] | None](), set[str](), 0
        for row in table.iter(_ROW):
            wanted = _times(row, "number-rows-repeated")
            first, number = number + 1, number + wanted
            self._headed = number if row.getparent().tag == f"{_TABLE}table-header-rows" else self._headed
            is_hidden, has_text = row.get(_VISIBILITY) in _NOT_SHOWN, any(map(str.strip, row.itertext()))
            has_text = has_text or any(map(_value_of, row))
            if is_hidden and has_text:
                self._draft.omit("hidden row", f"{name}, row {first}")
            cells = [] if is_hidden or not has_text else self._cells(row, columns, f"table {name}", cut, first)
            if not any(cells):  # these wait: a sheet may end with a million empty rows
                waiting += [None if is_hidden else []] * min(wanted, left - len(waiting))
                continue
            size = 1 + sum(len(cell) + 1 for cell in cells) // _ROW_CHARS
            times = min(wanted, 1 + left // size)
            if times < wanted:
                cut.add(f"table {name}: a row is repeated more than {times:,} times, and was read so often")
            yield from waiting
            yield from [cells] * times
            left, waiting = left - len(waiting) - (times - 1) * size, []
        self._draft.notes += sorted(cut)

    def _cells(self, row: Any, columns: list[Any], name: str, cut: set[str], number: int) -> list[str]:
        cells: list[str] = []
        for cell in row:
            if cell.tag not in _CELLS:
                continue
            column = columns[len(cells)] if len(cells) < len(columns) else row
            look = self._look(cell if cell.get(f"{_TABLE}style-name") else column, {})
            own = [one for one in cell.iter(*_PARAGRAPHS) if next(one.iterancestors(*self._apart), None) is None]
            text = " ".join(self._text(one, [], look) for one in own) if own else _value_of(cell)
            down, across = (_times(cell, f"number-{them}-spanned") for them in ("rows", "columns"))
            if down > 1 or across > 1:
                self._merged.append((len(cells) + 1, number, len(cells) + across, number + down - 1))
            self._notes["Comments"] += [f"{text}: {self._said(one)}" for one in cell.iterfind(_COMMENT)]
            if cell.get(f"{_TABLE}formula") and not text and cell.get(f"{_OFFICE}value-type") is None:
                cut.add(f"{name}: a formula has no value that was kept")
            times, room = _times(cell, "number-columns-repeated"), _COLUMNS - len(cells)
            cells += [text] * min(times, room)
            if text and times > room:
                cut.add(f"{name}: what stands right of {_COLUMNS:,} columns was not read")
        return cells

    def _text(self, element: Any, boxes: list[Any], look: Look | None = None) -> str:
        """Returns an element's text. Adds its frames, such as text boxes, to ``boxes``, and its notes to ``_notes``."""
        return shown(self._runs(element, boxes, look or {}), self._draft.omit)

    def _runs(self, element: Any, boxes: list[Any], above: Look) -> Iterator[tuple[str, str]]:
        look = self._look(element, above)
        name = name_of(look)
        yield element.text or "", name
        for child in element:
            if child.tag == _NOTE:
                mark = f"[{cited}]" if (cited := child.findtext(_TEXT + "note-citation")) else ""
                self._notes["Notes"].append(f"{mark} {self._said(child)}".strip())
                yield mark, RAISED
            elif child.tag == _COMMENT:
                mark = f"[{written(len(self._notes['Comments']) + 1, 'lowerLetter')}]"
                self._notes["Comments"].append(f"{mark} {self._said(child)}")
                yield mark, COMMENT
            elif child.get(_PLACEHOLDER) == "true":
                self._draft.omit("unfilled field")
            elif child.tag == _TEXT + "s":
                yield " " * min(_times(child, "c", _TEXT), _COLUMNS), name
            elif child.tag == _DRAW + "frame" and (formula := self._formula(child)):
                yield formula, name
            elif child.tag == _RUBY:
                yield self._text(child, boxes), BESIDE
            elif child.tag in _CHARACTERS:
                yield _CHARACTERS[child.tag], name
            elif isinstance(child.tag, str) and child.tag.startswith(_DRAW):
                boxes.append(child)
            elif child.tag not in _DROPPED and isinstance(child.tag, str):
                yield from self._runs(child, boxes, look)
            yield child.tail or "", name

    def _said(self, note: Any) -> str:
        return " ".join(self._text(one, []) for one in note.iter(_TEXT + "p"))

    def _formula(self, frame: Any) -> str:
        """Returns the formula in a frame on one line; empty if the frame has none."""
        found = frame.find(f"{_DRAW}object")
        member = posixpath.join(posixpath.normpath(found.get(_LINK, "")), CONTENT) if found is not None else ""
        root = self._archive.root(member, recover=True) if self._archive.has(member) else found
        return "" if root is None else "".join(linear(one) for one in root.iter("{*}math"))

    def _look(self, element: Any, above: Look) -> Look:
        """Returns the look of an element: ``above``, its parent's look, changed by its own style."""
        family = _FAMILIES.get(element.tag)
        return above | self._look_of(family[0], element.get(family[1], "")) if family else above

    def _look_of(self, family: str, name: str) -> Look:
        """Returns the look that the style ``name``, with its base styles, sets. ``family``: such as "paragraph"."""
        key = family, name
        if key not in self._looks:
            self._looks[key] = {}  # ends a cycle of base styles
            if (style := self._styles.get(key)) is not None:
                look = dict(self._look_of(family, style.get(f"{_STYLE}parent-style-name", "")))
                if (numbers := style.get(f"{_STYLE}list-style-name")) is not None:
                    look[_UNNUMBERED] = not numbers
                for properties in style:
                    through = [*filter(None, map(properties.get, _LINES_THROUGH))]
                    look |= {STRUCK: any(one != "none" for one in through)} if through else {}
                    look |= height_of(place) if (place := properties.get(f"{_STYLE}text-position")) else {}
                    is_hidden = any(properties.get(name) == value for name, value in _UNSEEN.items())
                    look |= {HIDDEN: True} if is_hidden else {}
                self._looks[key] = look
        return self._looks[key]


def _value_of(cell: Any) -> str:
    """Returns the value of a cell, which some programs write without a paragraph that shows it; "" without a value."""
    kind = cell.get(f"{_OFFICE}value-type", "")
    value = str(cell.get(_OFFICE + ("value" if kind in _FORMS else f"{kind}-value"), ""))
    value = shown_number(value, _FORMS[kind]) if kind in _FORMS else value
    value = _DURATION.sub(r"\1:\2", value.replace("T", " ") if kind == "date" else value)
    return value.upper() if kind == "boolean" else f"{value} {cell.get(f'{_OFFICE}currency', '')}".rstrip()


def _times(element: Any, name: str, space: str = _TABLE, least: int = 1) -> int:
    value = element.get(f"{space}{name}", "1")
    return max(least, int(value)) if value.isdecimal() and len(value) < 10 else 1
