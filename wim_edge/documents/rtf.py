"""The reader of RTF."""

from __future__ import annotations

import re

from wim_edge.documents.archive import damaged
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import check_size
from wim_edge.documents.numbering import written
from wim_edge.documents.rows import add_rows
from wim_edge.documents.runs import HIDDEN, LOWERED, RAISED, STRUCK, Look, name_of, shown
from wim_edge.settings import Limits

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_ROW = re.compile(r"[^\n]*\|$")
_FLAT: Look = {RAISED: False, LOWERED: False}
_LOOKS: dict[str, Look] = {
    **{word: {STRUCK: True} for word in ("strike", "striked", "deleted")}, "v": {HIDDEN: True}, "nosupersub": _FLAT,
    "super": {**_FLAT, RAISED: True}, "sub": {**_FLAT, LOWERED: True}, "plain": {**_FLAT, STRUCK: False, HIDDEN: False},
}  # fmt: skip
_SIGNS = {look: f"{{{chr(0xE000 + at)}}}" for at, look in enumerate(("", STRUCK, HIDDEN, RAISED, LOWERED))}
"""Groups with a private-use character, before the letters of a look (empty: plain), as striprtf drops looks."""
_MARGINS = "Headers and footers"
_SECTIONS = {"shptxt": "Text boxes", "footnote": "Footnotes", "annotation": "Comments"}
_SECTIONS |= {f"{margin}{pages}": _MARGINS for margin in ("header", "footer") for pages in ("", "l", "r", "f")}
"""The groups that striprtf drops, by the section at the end of the text that they are moved to."""
_NUMBERED = {"footnote": "decimal", "annotation": "lowerLetter"}
_HEADS = {chr(0xE010 + at): section for at, section in enumerate(dict.fromkeys(_SECTIONS.values()))}
_WORDS = "|".join([*_LOOKS, *_SECTIONS, "fldinst", "bin"])
_TOKEN = re.compile(rf"[{{}}]|\\(?:({_WORDS})(-?\d+)?(?![a-z0-9]) ?|[^a-z])")
_CELLS = re.compile(r"\\(?:trowd|intbl)(?![a-z]).*?(?:\\(?:row|pard)(?![a-z])|\Z)", re.S)
_BREAK = re.compile(r"\\(?:par|line|nestcell)(?![a-z0-9-]) ?")  # in a table's cell


def read_rtf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the text without struck-out or hidden passages. Raises DocumentError if it is too large or damaged."""
    striprtf = require("striprtf.striprtf", name)
    check_size(name, len(data), limits, "markup_bytes")
    markup = _CELLS.sub(lambda cells: _BREAK.sub(" ", cells[0]), _signed(data.decode("latin-1")))
    draft = DocumentBuilder()
    draft.title = "".join(_TITLE.findall(markup)[:1])
    try:
        text: str = striprtf.rtf_to_text(markup, encoding="cp1252", errors="replace")
    except (ValueError, LookupError, TypeError, OverflowError, AttributeError):  # invalid characters, and the like
        raise damaged(name) from None
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # its signs above U+FFFF are in two
    looks = {sign[1]: look for look, sign in _SIGNS.items()}
    parts = ["", *re.split(f"([{''.join(looks)}])", text)]
    text = shown(zip(parts[1::2], (looks.get(sign, "") for sign in parts[::2]), strict=True), draft.omit)
    rows, section, margins = list[list[str]](), "", set[str]()
    for line in text.split("\n"):
        if _ROW.fullmatch(line):
            rows.append(line[:-1].split("|"))
            continue
        add_rows(draft, rows)
        rows = []
        said = " ".join(line.split()) if section else line.strip()
        if said in _HEADS:
            section = _HEADS[said]
            draft.mark(section=section)
        elif section != _MARGINS or said not in margins:
            draft.paragraph(said, joins=bool(margins))
            margins |= {said} if section == _MARGINS else set()
    add_rows(draft, rows)
    return draft.document(name)


def _signed(markup: str) -> str:
    """Returns the markup with `_SIGNS`, without the codes of fields, and with the groups of `_SECTIONS` at its end."""
    text = out = list[str]()
    moved: dict[str, list[list[str]]] = {section: [] for section in _HEADS.values()}
    opened, look, done = list[tuple[Look, list[str]]](), Look(), 0  # opened: the groups around a token
    for token in _TOKEN.finditer(markup):
        if token.start() < done:  # in binary data
            continue
        out.append(markup[done : token.start()])
        done, word, before = token.end(), token[1], name_of(look)
        if word == "bin":
            done += int((token[2] or "0").lstrip("-")[:9])
        elif word in _LOOKS:
            look = look | {key: on and token[2] != "0" for key, on in _LOOKS[word].items()}
        elif word and len(opened) > 1:
            notes = moved.get(_SECTIONS.get(word, ""), [])
            label = f"[{written(len(notes) + 1, _NUMBERED[word])}] " if word in _NUMBERED else ""
            out.append(f"}}{_SIGNS[RAISED]}{label.strip()}{_SIGNS[name_of(opened[-1][0])]}{{" if label else "")
            out, look, before = [_SIGNS[""], label], Look(), ""
            notes.append(out)
        elif token[0] == "{":
            out.append("{")
            opened.append((look, out))
        elif token[0] == "}" and opened:
            look, out = opened.pop()
            if not opened:  # what is behind the document's group is not shown
                break
            out.append("}")
        else:
            out.append(token[0])
        out.append(_SIGNS[name_of(look)] if name_of(look) != before else "")
    else:
        out.append(markup[done:])
    for sign, section in _HEADS.items():
        text.append(rf"\par {_SIGNS['']}{sign}\par " if moved[section] else "")
        text += dict.fromkeys(rf"{{\pard {''.join(one)}\par}}" for one in moved[section])
    return "".join([*text, "}"])
