"""The reader of RTF."""

from __future__ import annotations

import re

from wim_edge.documents.archive import damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import check_size
from wim_edge.documents.rows import add_rows
from wim_edge.documents.runs import HIDDEN, LOWERED, RAISED, STRUCK, shown
from wim_edge.settings import Limits

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_ROW = re.compile(r"[^\n]*\|$")
_LOOKS = {"strike": STRUCK, "striked": STRUCK, "v": HIDDEN, "super": RAISED, "sub": LOWERED}
_LOOK = re.compile(
    r"\\(striked?|v|super|sub)(?:1(?!\d))?(?![a-z0-9]) ?"
    r"((?:(?!\\(?:striked?0|v0|nosupersub|plain|pard)(?![a-z]))[^{}])*+)"
)
_FIRST, _END = 0xE000, 0xE00F
"""Private-use characters that mark where the letters of a look begin (one per look) and end: striprtf drops looks."""
_CELLS = re.compile(r"\\(?:trowd|intbl)(?![a-z]).*?(?:\\(?:row|pard)(?![a-z])|\Z)", re.S)
_BREAK = re.compile(r"\\(?:par|line|nestcell)(?![a-z0-9-]) ?")  # in a table's cell
_NOTE, _BRACE = re.compile(r"\{(?:\\\*)?\\footnote(?![a-z])"), re.compile(r"\\[\\{}]|([{}])")
_SIGN = re.compile(r"\{[^{}]*\\chftn\s*\} ?")  # a footnote's own number, at its beginning


def read_rtf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the text without struck-out or hidden passages. Raises DocumentError if it is too large or damaged."""
    striprtf = require("striprtf.striprtf", name)
    check_size(name, len(data), limits, "markup_bytes")
    markup = _CELLS.sub(lambda cells: _BREAK.sub(" ", cells[0]), _with_notes_below(data.decode("latin-1")))
    names = list(_LOOKS)
    signed = _LOOK.sub(lambda one: rf"\u{_FIRST + names.index(one[1])}?{one[2]}\u{_END}?", markup)
    draft = DocumentBuilder()
    titled = _TITLE.search(markup)
    draft.title = titled[1] if titled else ""
    try:
        text: str = striprtf.rtf_to_text(signed, encoding="cp1252", errors="replace")
    except (ValueError, LookupError, TypeError, OverflowError, AttributeError):  # invalid characters, and the like
        raise damaged(name) from None
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # its signs above U+FFFF are in two
    parts = re.split(f"([{chr(_FIRST)}-{chr(_END - 1)}][^{chr(_FIRST)}-{chr(_END)}]*+){chr(_END)}", text)
    looks = {chr(_FIRST + at): look for at, look in enumerate(_LOOKS.values())}
    text = shown(((part.lstrip("".join(looks)), looks.get(part[:1], "")) for part in parts), draft.omit)
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


def _with_notes_below(markup: str) -> str:
    """Returns the markup with its footnotes moved below the text, and "[1]" in the place of each."""
    kept: list[str] = []
    notes: list[str] = []
    done = 0
    for note in _NOTE.finditer(markup):
        if note.start() < done:
            continue
        depth, end = 1, len(markup)
        for brace in _BRACE.finditer(markup, note.end()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                end = brace.start()
                break
        said = _SIGN.sub("", markup[note.end() : end], count=1).strip()
        notes.append(rf"{{\pard\plain [{len(notes) + 1}] {said}\par}}")
        before, behind = markup[note.start() - 1], markup[end + 1 : end + 2]
        kept += [markup[done : note.start()], f"{' ' * (before != ' ')}[{len(notes)}]{' ' * behind.isalnum()}"]
        done = end + 1
    kept.append(markup[done:])
    text, end_sign, rest = "".join(kept).rpartition("}")
    return rf"{text}\par {''.join(notes)}{end_sign}{rest}" if notes else markup
