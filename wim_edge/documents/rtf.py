"""The reader of RTF."""

from __future__ import annotations

import re

from wim_edge.documents.archive import damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS, above, mebibytes
from wim_edge.documents.rows import add_rows
from wim_edge.settings import Limits

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_ROW = re.compile(r"[^\n]*\|$")


def read_rtf(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text, without what is deleted or hidden; a table's row is a line. Raises DocumentError above the
    limit of markup."""
    striprtf = require("striprtf.striprtf", name)
    if len(data) > limits.markup_bytes:
        raise above(name, f"larger than {mebibytes(limits.markup_bytes)}", "markup_bytes")
    markup = data.decode("latin-1")
    draft = DocumentBuilder()
    titled = _TITLE.search(markup)
    draft.title = titled[1] if titled else ""
    try:
        text: str = striprtf.rtf_to_text(markup, encoding="cp1252", errors="replace")
    except (ValueError, LookupError, TypeError, OverflowError, AttributeError):  # of characters that are none, and such
        raise damaged(name) from None
    rows: list[list[str]] = []
    for line in text.split("\n"):
        if _ROW.fullmatch(line):
            rows.append(line[:-1].split("|"))
            continue
        add_rows(draft, rows)
        rows = []
        draft.paragraph(line.strip())
    add_rows(draft, rows)
    return draft.document(name)
