"""The reader of XLSX: one section per sheet, one line per row, with values as the sheet shows them."""

from __future__ import annotations

import io
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from wim_edge.documents.archive import DAMAGE, Archive, damaged, well_named
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS
from wim_edge.documents.rows import add_rows
from wim_edge.settings import Limits

# It warns of what it does not keep, colours by a condition say, on a terminal that only asks
warnings.filterwarnings("ignore", category=UserWarning, module=r"openpyxl\.")
_COLUMNS, _MERGES = 1000, 10_000
_CELLS = 5_000_000
"""The most cells that are looked at, of all sheets: two that stand far apart have a million empty rows between."""
_CURRENCY = re.compile(r"[€$£¥]")
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
_VALUELESS = re.compile(
    rb"""<(?:\w+:)?c(?:\s(?![^<>]*\bt="str")[^<>]*)?><(?:\w+:)?f(?:\s[^<>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"""
    rb"""(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
"""A formula's cell without the value that it had; that of a text may be empty."""
_REFERENCE = re.compile(rb"""\sr=["']([A-Z]{1,3}\d{1,7})["']""")
_LONGEST, _REPEATED = 200, 1_000_000
"""The most characters of a merged cell that is repeated, and of all that is repeated in a sheet."""
_QUOTED = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]')


def read_xlsx(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the sheets that are not hidden; of formulas the value that was last saved. Raises DocumentError."""
    openpyxl = require("openpyxl", name)
    archive = Archive(name, data, limits)
    archive.bound_markup(".xml", ".rels")
    draft = DocumentBuilder()
    try:
        book = openpyxl.load_workbook(io.BytesIO(well_named(data)), read_only=True, data_only=True, keep_links=False)
        draft.title = book.properties.title or Path(name).stem  # no sheet's name is the book's
        left = _CELLS
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                draft.notes.append(f"sheet {sheet.title} is hidden, and was not read")
                continue
            draft.mark(section=sheet.title)
            member = getattr(sheet, "_worksheet_path", "")
            markup = archive.read(member) if member in archive.names else b""
            valueless = islice(_VALUELESS.finditer(markup), _MERGES)
            if first := next(valueless, None):
                cell, empty = _REFERENCE.search(first[0]), 1 + sum(1 for _ in valueless)
                draft.notes.append(
                    f"sheet {sheet.title}: no value was kept of {empty:,} formula{'s' * (empty > 1)}"
                    f"{f' (first: {cell[1].decode()})' if cell else ''}; a spreadsheet program that opens and saves "
                    "the file keeps them"
                )
            rows = _Rows(sheet, left, _merged(markup))
            add_rows(draft, rows, are_numbered=True)
            left = rows.left
            if rows.is_wider:
                draft.notes.append(f"sheet {sheet.title}: what stands right of {_COLUMNS:,} columns was not read")
            if left <= 0:
                draft.notes.append(f"more than {_CELLS:,} cells: what follows on sheet {sheet.title} was not read")
                break
    except (*DAMAGE, AttributeError, TypeError, IndexError, RecursionError, SyntaxError, AssertionError):
        # openpyxl takes a package's structure for granted; what its XML parser raises is a SyntaxError
        raise damaged(name) from None
    return draft.document(name)


class _Rows:
    """The rows of a sheet as texts, until so many cells have been looked at. ``merged``: by their rows, the columns of
    cells that go over more rows, and the last of these; such a cell stands in each that holds something."""

    def __init__(self, sheet: Any, left: int, merged: dict[int, list[tuple[int, int]]]) -> None:
        self._sheet, self.left, self._merged, self.is_wider = sheet, left, merged, False

    def __iter__(self) -> Iterator[list[str]]:
        goes_on: dict[int, tuple[str, int]] = {}
        repeated = width = 0
        self._sheet.reset_dimensions()  # what a file says of its size may be wrong; each row ends with its last cell
        for number, whole in enumerate(self._sheet.iter_rows(), start=1):
            row = whole[:_COLUMNS]
            width = max(width, len(row)) if row else 0  # of the rows since an empty one
            self.left -= 1 + width
            if self.left <= 0:
                return
            self.is_wider |= any(cell.value is not None for cell in whole[_COLUMNS:])
            texts = [shown(cell.value, getattr(cell, "number_format", None) or "") for cell in row]
            texts += [""] * (width - len(row))
            if any(texts):
                for column, (text, last) in goes_on.items():
                    if number <= last and column < len(texts) and not texts[column] and repeated < _REPEATED:
                        texts[column] = text
                        repeated += len(text)
            for column, last in self._merged.get(number, ()):
                if column < len(texts) and len(texts[column]) <= _LONGEST:
                    goes_on[column] = texts[column], last
            yield texts


def _merged(markup: bytes) -> dict[int, list[tuple[int, int]]]:
    """Returns the cells of a sheet that go over several rows, as `_Rows` takes them: openpyxl tells of them only where
    it loads the whole sheet."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in islice(_MERGED.finditer(markup, markup.rfind(b"</sheetData>")), _MERGES):
        column = 0
        for letter in one[1]:
            column = 26 * column + letter - ord("A") + 1
        if int(one[3]) > int(one[2]):
            found[int(one[2])].append((column - 1, int(one[3])))
    return found


def shown(value: object, form: str = "") -> str:
    """Returns a cell's value as its sheet shows it, about: ``form`` is the cell's number format ("0.0%",
    '#,##0.00 "EUR"')."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return f"{value:%H:%M}"
    if isinstance(value, timedelta):
        minutes = round(value.total_seconds() / 60)
        return f"{minutes // 60}:{minutes % 60:02}"
    return _number(value, form.split(";")[0]) if isinstance(value, int | float) else str(value)


def _number(value: float, form: str) -> str:
    words = ["".join(found) for found in _QUOTED.findall(form)]
    plain = _QUOTED.sub("", form)
    if "%" in plain:
        value *= 100
    digits = re.search(r"\.(0+)", plain)
    if digits:
        text = f"{value:,.{min(len(digits[1]), 9)}f}"
    elif re.search(r"0", plain) and "#" not in plain.partition(".")[2]:
        text = f"{value:,.0f}"
    else:
        text = f"{value:,.10g}" if abs(value) < 1e10 else f"{value:,.0f}"
    if "," not in plain.replace(r"\,", ""):
        text = text.replace(",", "")
    if "%" in plain:
        return f"{text}%"
    unit = "".join(words).strip() or "".join(_CURRENCY.findall(plain))[:1]
    if not unit:
        return text
    first = min((form.find(sign) for sign in "#0" if sign in form), default=0)
    is_before = form.find(unit) < first
    return (f"{unit}{text}" if len(unit) == 1 else f"{unit} {text}") if is_before else f"{text} {unit}"
