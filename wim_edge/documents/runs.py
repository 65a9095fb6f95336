"""Plain text from runs (letters of one look): drops struck-out and hidden runs, marks raised and lowered ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from unicodedata import normalize

STRUCK, HIDDEN = "struck-out passage", "hidden passage"
RAISED, LOWERED, BESIDE, COMMENT = "raised", "lowered", "annotation of a word (ruby)", "mark of a comment"
Look = dict[str, bool]
"""The constants above, each with whether a text's properties switch it on (True) or off (False)."""
ABOVE = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
BELOW = str.maketrans("0123456789+-−–", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")
_NUMBERS = re.compile(r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*")
_SIGNED = re.compile(r"[+−–-]\d{1,3}|\d{0,2}[+−–-]")
_UNIT = re.compile(
    r"(?<![^\W\d_])(?:[kMhdcmµμn]?m|ft|yd|[A-Za-zα-ωΑ-Ω])$"  # m, km, a variable
    r"|(?:\d\s?|/)(?:in|mi)$|[×·∙⋅*^]\s?\d+$|[=≈<>]\s?(?:\w|10|[^\W\d_]{1,2})$"  # or a number in a formula
)
_ACCENTS = "`´¨^ˆ~˜¯˘˙˚¸˝˛ˇ"
_COMBINING = "\u0300\u0301\u0308\u0302\u0302\u0303\u0303\u0304\u0306\u0307\u030a\u0327\u030b\u0328\u030c"
_ACCENT, _DOTLESS = re.compile(f"[{_ACCENTS}]"), {0x131: "i", 0x237: "j"}
_UNIT_CHARS = 32  # the last characters of a text, which may be a unit
_ORDINAL = re.compile(r"\d[eo]$")
_NO_WORD = re.compile("[\\W\u2e80-\U0003ffff]")  # nor a sign of a script without blanks
_FRACTION = re.compile(r"\d+[/⁄]\d*")

LETTERS = {
    "Symbol": {
        **{code: chr(code) for code in range(ord("("), ord("@"))},
        **dict(enumerate("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", ord("A"))),
        **dict(enumerate("αβχδεφγηιϕκλμνοπθρστυϖωξψζ", ord("a"))),
        **dict(enumerate("′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…", 0xA2)), 0xD0: "∠", 0xD6: "√", 0xE5: "∑", 0xF2: "∫",
    },
    "Wingdings": {
        0x6F: "☐", 0x71: "☐", 0x72: "☐", 0xA7: "▪", 0xA8: "☐", 0xE0: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    },
    "Wingdings 2": {0x4F: "✗", 0x50: "✓", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐"},
}  # fmt: skip
"""The letters that symbol fonts show, by font and code."""


def symbol(font: str, code: str) -> str:
    """Returns the letter that a font shows for a hexadecimal code, such as "F0FE"; empty if it is unknown."""
    said = in_font(font, chr(int(code, 16))) if re.fullmatch(r"[0-9A-Fa-f]{1,4}", code) else ""
    return said if " " <= said < "\ud800" else ""


def in_font(font: str, text: str) -> str:
    """Returns the letters that a symbol font shows for a text; for any other font, the text itself."""
    signs = LETTERS.get(font)
    return "".join(signs.get(ord(one) & 0xFF, one) for one in text) if signs else text


def with_accents(text: str, box: Callable[[int], tuple[float, ...]]) -> str:
    """Returns the text with each accent joined to the neighbouring letter over which it is drawn, as TeX does. U+00AD
    fills the accent's place. ``box`` returns a character's place by index: (left, bottom, right, top)."""
    for accent in _ACCENT.finditer(text):
        at, (left, _, right, _) = accent.start(), box(accent.start())
        for first in (at, at - 1):
            pair, over = text[max(0, first) : first + 2], box(2 * first + 1 - at)
            letter = pair.replace(accent[0], "", 1).translate(_DOTLESS)
            both = normalize("NFC", letter + _COMBINING[_ACCENTS.index(accent[0])])
            if len(pair) == 2 and len(both) == 1 and left < (over[0] + over[2]) / 2 < right:
                text = f"{text[:first]}{both}\xad{text[first + 2 :]}"
    return text


def name_of(look: Look) -> str:
    """Returns the constant (such as STRUCK) that decides how text with this look is shown; "" for plain text."""
    return next((one for one in (HIDDEN, STRUCK, RAISED, LOWERED) if look.get(one)), "") if look else ""


def height_of(value: str) -> Look:
    """Returns the look of a height as formats state it: "superscript", "super 58%", "30000"; "subscript", "-25%"."""
    return {RAISED: value.startswith(("super", *"+123456789")), LOWERED: value.startswith(("sub", "-"))}


def shown(runs: Iterable[tuple[str, str]], omit: Callable[[str], object]) -> str:
    """Returns the plain text of runs (text, look). Calls ``omit`` with the look of hidden or struck-out passages."""
    text, is_cut, is_mark = "", False, False
    groups = [(look, "".join(run[0] for run in group)) for look, group in groupby(runs, key=lambda run: run[1])]
    for at, (look, more) in enumerate(groups, start=1):
        if look in (STRUCK, HIDDEN):
            if more.strip():
                omit(look)
                is_cut = True
        elif look:
            if look == COMMENT and text[-1:].isalnum() and at < len(groups) and not groups[at][0]:  # it ends the word
                inner = _NO_WORD.split(groups[at][1], maxsplit=1)[0]
                text, groups[at] = text + inner, ("", groups[at][1].removeprefix(inner))
            added, is_mark = set_off(text[-_UNIT_CHARS:], more, look, groups[at][1] if at < len(groups) else "")
            text += added
        else:
            if is_cut and (not text or text[-1].isspace()):
                more = more.lstrip(" ")
            text += f" {more}" if is_mark and more[:1].isalnum() else more
            is_cut = is_mark = False
    return text


def set_off(before: str, text: str, look: str, behind: str = "", *, is_link: bool = False) -> tuple[str, bool]:
    """Returns (plain text, whether it is a footnote's mark) for raised or lowered letters after ``before``: "36 m²",
    "H₂O", "$450 [1]" with a mark. ``behind``: the text after the letters. ``is_link``: whether they are a link."""
    said = text.strip()
    if look == BESIDE:
        return f"({said})" if before[-1:].isalnum() else text, False
    is_number = _NUMBERS.fullmatch(said) is not None
    if look == LOWERED:
        is_index = (is_number or _SIGNED.fullmatch(said)) and before[-1:].isalpha() | (before[-1:] in (")", "]"))
        return said.translate(BELOW) if is_index else text, False
    near = before[-_UNIT_CHARS:]
    if not is_link and (_SIGNED.fullmatch(said) or (said.isdecimal() and _UNIT.search(near))):
        return said.translate(ABOVE), False
    if not is_link and _FRACTION.fullmatch(said + behind[:2].rstrip()):
        return " " * before[-1:].isalnum() + said, False
    is_letter = len(said) == 1 and said.isalpha() and not _UNIT.search(near) and not _ORDINAL.search(near + said)
    if not is_number and not is_letter and said[:1] not in ("[", "("):
        return text, False
    mark = said if said[:1] in ("[", "(") else f"[{said}]"
    return f"{' ' * bool(before and not before[-1].isspace())}{mark}", True
