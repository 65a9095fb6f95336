"""The reader of RTF."""

from __future__ import annotations

import re
from itertools import product

from wim_edge.documents.archive import damaged
from wim_edge.documents.document import Document, DocumentBuilder, check_size, require
from wim_edge.documents.numbering import written
from wim_edge.documents.rows import add_rows
from wim_edge.documents.runs import HIDDEN, LETTERS, LOWERED, RAISED, STRUCK, Look, in_font, name_of, shown
from wim_edge.settings import Limits

_TITLE = re.compile(r"\{\\title ([^{}\\]{1,300})\}")
_FONT = re.compile(rf"\\f(\d+)[^;]{{0,100}}?\\fcharset2(?!\d)[^;]{{0,100}}?[ }}]({'|'.join(LETTERS)});")
_ITEM = re.compile(r"(?:\{\\(?:pntext|listtext)(?![a-z]) ?([^{}]*?)(?:\\tab ?)?\}\s*)+")
"""The visible number or bullet of a list's item; a file may have it twice, for old programs."""
_FLAT: Look = {RAISED: False, LOWERED: False}
_LOOKS: dict[str, Look] = {
    **{word: {STRUCK: True} for word in ("strike", "striked", "deleted")}, "v": {HIDDEN: True}, "nosupersub": _FLAT,
    "super": {**_FLAT, RAISED: True}, "sub": {**_FLAT, LOWERED: True}, "plain": {**_FLAT, STRUCK: False, HIDDEN: False},
}  # fmt: skip
_SIGNS = {kind: f"{{{chr(0xE000 + at)}}}"
          for at, kind in enumerate(product(("", STRUCK, HIDDEN, RAISED, LOWERED), ("", *LETTERS)))}  # fmt: skip
"""RTF groups by (look, font). Each holds a private-use character that marks the letters after it, as striprtf drops
looks and fonts. No symbol font has a letter for the last byte of these characters, nor of those below."""
_PLAIN = _SIGNS["", ""]
_CELL, _NESTED = "\ue018", "\ue019"  # the end of a cell, and of a row of a table in a cell
_ENDS = {"cell": _CELL, "nestcell": " ", "nestrow": _NESTED}
_MARGINS = "Headers and footers"
_SECTIONS = {"shptxt": "Text boxes", "footnote": "Footnotes", "annotation": "Comments"}
_SECTIONS |= {f"{margin}{pages}": _MARGINS for margin in ("header", "footer") for pages in ("", "l", "r", "f")}
"""The groups that striprtf drops, each with the title of the section, at the text's end, to which it is moved."""
_NUMBERED = {"footnote": "decimal", "annotation": "lowerLetter"}
_HEADS = {chr(0xE01A + at): section for at, section in enumerate(dict.fromkeys(_SECTIONS.values()))}
_WORDS = "|".join([*_LOOKS, *_SECTIONS, *_ENDS, "fldinst", "bin", "f", "nesttableprops"])
_TOKEN = re.compile(rf"[{{}}]|\\(?:({_WORDS})(-?\d+)?(?![a-z0-9]) ?|[^a-z])")
_CELLS = re.compile(r"\\(?:trowd|intbl)(?![a-z]).*?(?:\\(?:row|pard)(?![a-z])|\Z)", re.S)
_BREAK = re.compile(r"\\(?:par|line)(?![a-z0-9-]) ?")  # in a table's cell


def read_rtf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns an RTF file's text without struck-out or hidden parts. Raises DocumentError if too large or damaged."""
    striprtf = require("striprtf.striprtf", name)
    check_size(name, len(data), limits, "markup_bytes")
    markup = _CELLS.sub(lambda cells: _BREAK.sub(" ", cells[0]), _signed(_ITEM.sub(r"{\1{ }}", data.decode("latin-1"))))
    draft = DocumentBuilder()
    draft.title = "".join(_TITLE.findall(markup)[:1])
    try:
        text: str = striprtf.rtf_to_text(markup, encoding="cp1252", errors="replace")
    except (ValueError, LookupError, TypeError, OverflowError, AttributeError):  # invalid characters, and the like
        raise damaged(name) from None
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # its signs above U+FFFF are in two
    kinds = {sign[1]: kind for kind, sign in _SIGNS.items()}
    parts = [_PLAIN[1], *re.split(f"([{''.join(kinds)}])", text)]
    runs = [(*kinds[sign], text) for sign, text in zip(parts[::2], parts[1::2], strict=True)]
    text = shown([(in_font(font, text), look) for look, font, text in runs], draft.omit)
    rows, section, margins = list[list[str]](), "", set[str]()
    for line in text.split("\n"):
        cells = ["; ".join(filter(None, map(str.strip, cell.split(_NESTED)))) for cell in line.split(_CELL)]
        if len(cells) > 1:
            rows.append(cells if cells[-1] else cells[:-1])
            continue
        add_rows(draft, rows)
        rows = []
        said = " ".join(cells[0].split()) if section else cells[0]
        if said in _HEADS:
            section = _HEADS[said]
            draft.mark(section=section)
        elif section != _MARGINS or said not in margins:
            draft.paragraph(said, joins=bool(margins))
            margins |= {said} if section == _MARGINS else set()
    add_rows(draft, rows)
    return draft.document(name)


def _signed(markup: str) -> str:
    """Returns RTF markup with `_SIGNS` before letters, without field codes, and with groups `_SECTIONS` at the end."""
    text = out = list[str]()
    moved: dict[str, list[list[str]]] = {section: [] for section in _HEADS.values()}
    opened, look, font, done = list[tuple[Look, str, list[str]]](), Look(), "", 0  # opened: the groups around a token
    fonts = dict(_FONT.findall(markup))
    for token in _TOKEN.finditer(markup):
        if token.start() < done:  # in binary data
            continue
        out.append(markup[done : token.start()])
        done, word, before = token.end(), token[1], (name_of(look), font)
        if word == "bin":
            done += int((token[2] or "0").lstrip("-")[:9])
        elif word in _LOOKS:
            look = look | {key: on and token[2] != "0" for key, on in _LOOKS[word].items()}
            font = font * (word != "plain")
        elif word == "f":
            out.append(token[0])
            font = fonts.get(token[2], "")
        elif word in _ENDS:
            out.append(f"{{{_ENDS[word]}}}")
        elif word == "nesttableprops":  # a group that striprtf drops
            out.append(f"}}{{{_NESTED}}}{{\\*{token[0]}")
        elif word and len(opened) > 1:
            notes = moved.get(_SECTIONS.get(word, ""), [])
            label = f"[{written(len(notes) + 1, _NUMBERED[word])}] " if word in _NUMBERED else ""
            around = _SIGNS[name_of(opened[-1][0]), opened[-1][1]]
            out.append(f"}}{_SIGNS[RAISED, '']}{label.strip()}{around}{{" if label else "")
            out, look, font, before = [_PLAIN, label], Look(), "", ("", "")
            notes.append(out)
        elif token[0] == "{":
            out.append("{")
            opened.append((look, font, out))
        elif token[0] == "}" and opened:
            look, font, out = opened.pop()
            if not opened:  # what is behind the document's group is not shown
                break
            out.append("}")
        else:
            out.append(token[0])
        kind = name_of(look), font
        out.append(_SIGNS[kind] if kind != before or word in _LOOKS else "")  # in place of the word, or after it
    else:
        out.append(markup[done:])
    for sign, section in _HEADS.items():
        text.append(rf"\pard\par {_PLAIN}{sign}\par " if moved[section] else "")
        text += dict.fromkeys(rf"{{\pard {''.join(one)}\par}}" for one in moved[section])
    return "".join([*text, "}"])
