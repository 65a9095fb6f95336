"""Raised letters in plain text: the mark of a footnote is no digit of the number before it."""

from __future__ import annotations

import re

_UNITS = frozenset(["m", "km", "dm", "cm", "mm", "µm", "ft", "in", "yd", "mi", "s", "ha"])
_MARK, _UNIT = re.compile(r"[\d,+\-\u2212\u2013]+|\*"), re.compile(r"(?<![^\W\d_])([^\W\d_]+)$")
_LATIN, _LONG = re.compile("[a-z]"), re.compile(r"[^\W\d_]{3}$|\d{3}$")
_TEN = re.compile(r"(?<!\d)10$")
_POWERS = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


def raised(base: str, mark: str, follows: str = "") -> str:
    """Returns raised letters as they stand behind a word in plain text: an exponent or an ordinal's letters on it, the
    mark of a footnote apart, in brackets."""
    if follows in ("/", "⁄"):
        return f" {mark}"
    if not _MARK.fullmatch(mark):
        return f" [{mark}]" if _LATIN.fullmatch(mark) and _LONG.search(base) else mark
    unit = _UNIT.search(base)
    is_unit = unit is not None and (len(unit[1]) == 1 or unit[1] in _UNITS)
    if mark[0] in "+-\u2212\u2013" or is_unit or _TEN.search(base):
        return mark.translate(_POWERS)
    return f" [{mark.strip(',')}]"
