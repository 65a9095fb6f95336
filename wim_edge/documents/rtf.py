"""The reader of RTF: one pass over its control words and groups, by the tables of striprtf."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from itertools import chain, groupby
from types import ModuleType
from typing import NamedTuple

from wim_edge.documents.archive import damaged
from wim_edge.documents.document import MARGINS, Document, DocumentBuilder, check_size, require
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
_CELL, _NESTED = "\ue018", "\ue019"  # the end of a cell, and of a row of a table in a cell
_SPLIT = re.compile(rf"\s*{_NESTED}\s*")
_ENDS = {"cell": _CELL, "nestcell": " ", "nestrow": _NESTED, "row": "\n"}
_IN_ROW = {"trowd": True, "intbl": True, "row": False, "pard": False}
"""The control words after which text is in a table, where a line break is a blank, or no longer is."""
_BREAKS = ("par", "line")
_SECTIONS = {"shptxt": "Text boxes", "footnote": "Footnotes", "annotation": "Comments"}
_SECTIONS |= {f"{margin}{pages}": MARGINS for margin in ("header", "footer") for pages in ("", "l", "r", "f")}
"""The groups that are moved to the text's end, each with the title of its section there."""
_NUMBERED = {"footnote": "decimal", "annotation": "lowerLetter"}
_TOKEN = re.compile(
    r"((?:[^\\{}\r\n]++|\\'[0-9a-f]{2})+)|\\(?:([a-z]{1,32})(-?\d{1,10})? ?|(.))|([{}])|[\r\n]+", re.I | re.S
)
_CODE = re.compile(r"\\'(..)")
Runs = list[tuple[str, str]]  # (text, look), for `wim_edge.documents.runs`


def read_rtf(name: str, data: bytes, limits: Limits) -> Document:
    """Returns an RTF file's text without struck-out or hidden parts. Raises DocumentError if too large or damaged."""
    striprtf = require("striprtf.striprtf", name)
    check_size(name, len(data), limits, "markup_bytes")
    markup = _ITEM.sub(r"{\1{ }}", data.decode("latin-1"))
    draft = DocumentBuilder()
    draft.title = "".join(_TITLE.findall(markup)[:1])
    try:
        sections = _Reader(markup, striprtf).sections()
    except (ValueError, OverflowError):  # there is no character of some number
        raise damaged(name) from None
    for section, runs in sections.items():
        draft.mark(section=section)
        text = shown(runs, draft.omit).replace("\xad", "")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # signs above U+FFFF are in two
        lines = [[_SPLIT.sub("; ", cell).strip("; ") for cell in line.split(_CELL)] for line in text.split("\n")]
        if section == MARGINS:
            draft.margins(" ".join(" | ".join(filter(None, cells)).split()) for cells in lines)
            continue
        for is_table, rows in groupby(lines, key=lambda cells: len(cells) > 1):
            if is_table:
                add_rows(draft, [cells if cells[-1] else cells[:-1] for cells in rows])
            for cells in () if is_table else rows:
                draft.paragraph(" ".join(cells[0].split()) if section else cells[0])
    return draft.document(name)


class _Group(NamedTuple):
    """The settings of a group, which end with it. ``n_spare``: how many characters repeat each Unicode character."""

    out: Runs
    is_shown: bool = True
    look: Look = _FLAT
    font: str = ""
    is_in_row: bool = False
    n_spare: int = 1


class _Reader:
    """Reads RTF markup. Leaves field codes out, and moves the groups `_SECTIONS` to the end."""

    def __init__(self, markup: str, striprtf: ModuleType) -> None:
        self._markup, self._striprtf, self._signs = markup, striprtf, striprtf.specialchars | _ENDS
        self._moved: dict[str, list[Runs]] = {section: [] for section in _SECTIONS.values()}
        self._group, self._opened = _Group([]), list[_Group]()
        self._letters, self._codecs = dict(_FONT.findall(markup)), {"": "cp1252"}  # by font; "" is any other

    def sections(self) -> dict[str, Runs]:
        """Returns the runs of the document's text, under "", and of each section that is moved, in their order."""
        text, at, spare = self._group.out, 0, 0  # spare: how many characters are still to skip
        while token := _TOKEN.match(self._markup, at):
            said, word, number, sign, brace = token.groups()
            at, group = token.end(), self._group
            if said:
                said = _CODE.sub(lambda code: chr(int(code[1], 16)), said) if "\\" in said else said
                said, spare = said[spare:], max(0, spare - len(said))
                codec = self._codecs.get(group.font) or self._codecs[""]
                self._say(said if said.isascii() else said.encode("latin-1").decode(codec, "replace"))
                continue
            spare = 0 if word or sign or brace else spare
            if word == "bin":
                at += int((number or "0").lstrip("-"))
            elif word == "u" and number:
                self._say(chr(int(number) + 0x10000 * (number[0] == "-")))
                spare = group.n_spare
            elif brace == "{":
                self._opened.append(group)
            elif brace and len(self._opened) < 2:  # what is behind the document's group is not shown
                break
            elif brace:
                self._group = self._opened.pop()
            elif word or sign:
                self._word(word or sign, number)
        return {"": text} | {one: [*chain(*dict.fromkeys(map(tuple, runs)))] for one, runs in self._moved.items()}

    def _say(self, text: str) -> None:
        group = self._group
        if group.is_shown:
            group.out.append((in_font(self._letters.get(group.font, ""), text), name_of(group.look)))

    def _word(self, word: str, number: str | None) -> None:
        group = self._group
        if word in _LOOKS:
            look = group.look | {key: on and number != "0" for key, on in _LOOKS[word].items()}
            self._group = group._replace(look=look, font=group.font * (word != "plain"))
        elif word == "f":
            self._group = group._replace(font=number or "")
        elif word == "uc":
            self._group = group._replace(n_spare=int(number or 1))
        elif word in ("ansicpg", "fcharset"):
            codec = f"cp{number}" if word == "ansicpg" else self._striprtf.charset_map.get(int(number or 1), "")
            with suppress(LookupError):
                self._codecs["" if word == "ansicpg" else group.font] = codecs.lookup(codec).name
        elif word in _SECTIONS and len(self._opened) > 1:
            notes = self._moved[_SECTIONS[word]]
            label = f"[{written(len(notes) + 1, _NUMBERED[word])}]" if word in _NUMBERED else ""
            outer = self._opened[-1]
            outer.out.append((label * outer.is_shown, RAISED))
            self._group = _Group([("\n", ""), (f"{label} ".lstrip(), "")], n_spare=group.n_spare)
            notes.append(self._group.out)
        elif word == "*" or word in self._striprtf.destinations:
            if word == "nesttableprops" and self._opened and self._opened[-1].is_shown:
                group.out.append((_NESTED, name_of(group.look)))
            self._group = group._replace(is_shown=False)
        elif group.is_shown:
            if word in _IN_ROW:
                self._group = group._replace(is_in_row=_IN_ROW[word])
            if said := self._signs.get(word):
                self._say(" " if group.is_in_row and word in _BREAKS else said)
