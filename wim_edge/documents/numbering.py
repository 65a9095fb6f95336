"""The numbers and bullets that Word shows before paragraphs ("4.2 Notice") but does not store in their text.

The rules are in ECMA-376, part 1, 17.9: a paragraph or its style names a list, which defines each level's numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
KINDS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
"""Word's names of number formats, by the letters that HTML and OpenDocument use."""
_AT = frozenset("012345678")
_LEVELS, _LONGEST = len(_AT), 100  # levels of a list; most characters of a level's text ("%1.%2")
_STYLES = 20  # longest chain of base styles; also the most repeats of a letter ("aa" is 27)
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,9})(?![0-9])")


class Numbering:
    """The lists in a Word document's numbering.xml (``lists``), with their counters. ``styles``: elements by id."""

    def __init__(self, lists: Any, styles: dict[str, Any]) -> None:
        named = [(one, _by_level(one.iterfind(f"{_W}lvl"))) for one in lists.iterfind(f"{_W}abstractNum")]
        of_style = {style: levels for one, levels in named if (style := value_of(one, "styleLink"))}
        definitions: dict[str, tuple[dict[str, Any], list[int | None]]] = {}
        for one, levels in named:
            levels = of_style.get(value_of(one, "numStyleLink") or "", levels)
            definitions[one.get(f"{_W}abstractNumId")] = levels, [None] * _LEVELS
        self._lists = {}
        for one in lists.iterfind(f"{_W}num"):
            if (name := value_of(one, "abstractNumId") or "") in definitions:
                levels, counts = definitions[name]
                changes = _by_level(one.iterfind(f"{_W}lvlOverride"))
                levels = levels | _by_level(one.iterfind(f"{_W}lvlOverride/{_W}lvl"))
                self._lists[one.get(f"{_W}numId")] = levels, counts, changes
        """The lists by id: (elements of the levels "0" to "8", counters by level, elements that override a level)."""
        self._styles = styles
        self._begun: set[tuple[str, int]] = set()

    def label(self, paragraph: Any) -> str:
        """Returns a paragraph's label in its list ("4.2", "(b)", "-"), and advances the counter; "" outside lists."""
        number, level = self._place(paragraph)
        if number not in self._lists or not 0 <= level < _LEVELS:
            return ""
        levels, counts, changes = self._lists[number]
        if (shown := levels.get(str(level))) is None:
            return ""
        starts = [value_of(changes.get(str(at)), "startOverride") for at in range(level + 1)]
        if (number, level) not in self._begun and starts[level] is not None:
            counts[level] = None
        self._begun.add((number, level))
        for at, before in enumerate(counts):
            if at <= level and (before is None or at == level):
                start = starts[at] or value_of(levels.get(str(at)), "start") or "1"
                counts[at] = integer(start) if before is None else before + 1
            elif at > level and before is not None:  # a level begins again after each that is above its limit; 0: none
                limit = integer(value_of(levels.get(str(at)), "lvlRestart") or str(at))
                counts[at] = None if level < min(limit, at) else before
        if value_of(shown, "numFmt") == "bullet":
            return "-"

        def number_of(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            kind = value_of(levels.get(str(at)), "numFmt") or "decimal"
            is_arabic = kind.startswith("decimal") or shown.find(f"{_W}isLgl") is not None
            return written(counts[at] or 0, "decimal" if is_arabic and kind != "decimalZero" else kind)

        return re.sub("%([1-9])", number_of, (value_of(shown, "lvlText") or "")[:_LONGEST]).strip()

    def _place(self, paragraph: Any) -> tuple[str, int]:
        """Returns (list id, level from 0) that a paragraph, its style or a base style sets. The id "" means no list."""
        properties, style = paragraph.find(f"{_W}pPr"), value_of(paragraph.find(f"{_W}pPr"), "pStyle")
        number = level = own = None
        for _ in range(_STYLES):
            named = None if properties is None else properties.find(f"{_W}numPr")
            number = value_of(named, "numId") if number is None else number
            level = value_of(named, "ilvl") if level is None else level
            if number is not None or style not in self._styles:
                break
            own, properties = style, self._styles[style].find(f"{_W}pPr")
            style = value_of(self._styles[style], "basedOn")
        if level is None and own is not None and number in self._lists:  # a level may name the style that uses it
            level = next((at for at, one in self._lists[number][0].items() if value_of(one, "pStyle") == own), None)
        return number or "", integer(level or "0")


def written(number: int, kind: str) -> str:
    """Returns a number in the format with Word's name ``kind``: "iv" for "lowerRoman". An unknown format is decimal."""
    if kind == "none":
        return ""
    if kind in ("lowerLetter", "upperLetter") and number > 0:
        text = chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, _STYLES)
    elif kind in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = ""
        for value, sign in _ROMAN:
            text += sign * (number // value)
            number %= value
    else:
        return f"{number:02}" if kind == "decimalZero" else str(number)
    return text.upper() if kind.startswith("upper") else text


def value_of(element: Any, tag: str) -> str | None:
    """Returns the ``w:val`` of an element's child ``tag``; None if the element, child or attribute is missing."""
    found = None if element is None else element.find(f"{_W}{tag}")
    return None if found is None else found.get(f"{_W}val")


def _by_level(elements: Iterable[Any]) -> dict[str, Any]:
    """Returns {level: element} of the elements that define or override a list's levels, "0" to "8"."""
    return {at: one for one in elements if (at := one.get(f"{_W}ilvl")) in _AT}


def integer(text: str, default: int = 0) -> int:
    """Returns the whole number of at most nine digits with which a text begins, or ``default``."""
    found = _INTEGER.match(text)
    return int(found[1]) if found else default
