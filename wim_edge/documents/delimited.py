"""The reader of CSV and TSV: one line per row."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter

from wim_edge.documents.decode import decode
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.rows import add_rows
from wim_edge.settings import Limits

_DELIMITERS = ",;\t|"
_STATED = re.compile(r"\"?sep=(.)\"?\n", re.IGNORECASE)  # Excel's first line
_SAMPLE = 65_536  # characters for guessing the dialect
_WIDEST = 1 << 20  # most characters of a cell


def read_delimited(name: str, data: bytes, limits: Limits) -> Document:
    """Returns a CSV or TSV table as one line per row. Text that is no table, such as one column, stays unchanged."""
    text, notes = decode(name, data)
    draft, stated = DocumentBuilder(notes), _STATED.match(text)
    text = text[stated.end() if stated else 0 :]
    sample, delimiter = text[:_SAMPLE], stated[1] if stated else ""
    try:
        dialect = csv.Sniffer().sniff(sample, delimiter or _DELIMITERS)
    except csv.Error:  # for example, because other lines precede the table
        dialect = type("Common", (csv.excel,), {"delimiter": delimiter or max(_DELIMITERS, key=sample.count)})
    before = csv.field_size_limit(_WIDEST)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), dialect))
    except csv.Error:
        rows = []
    finally:
        csv.field_size_limit(before)
    widths = [len(row) for row in rows if row]
    (width, count), *_ = Counter(width for width in widths if width > 1).most_common(1) or [(0, 0)]
    if count < 2 or 2 * count < len(widths) - widths.index(width):  # what is above the table may have any width
        return Document(name, text, notes=notes, is_converted=True)
    add_rows(draft, rows, column=1 if len(rows) == len(text.splitlines()) else None)
    return draft.document(name)
