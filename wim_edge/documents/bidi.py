"""The logical order of the letters in a row on a page: the Unicode bidirectional algorithm in reverse.

A page stores the places of its letters, and programs draw right-to-left text in many orders. Only the visible result is
reliable: so the places decide, and the letters' classes show which of them run from left to right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import cycle

RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""A letter of a right-to-left script."""
_CLASSES = {"L": "L", "R": "R", "AL": "R", "EN": "N", "AN": "N", "ES": "S", "CS": "S", "ET": "T"}
_LTR = re.compile("L(?:[LNST ]*[LN])?|(?:(?<!T)T++)?N(?:S?N)*T*")
"""Left-to-right letters with the numbers and signs among them, or a number alone."""
_RTL_RUN = re.compile("R(?:[RNST ]*R)?")
_BRACKET = re.compile(r"[()\[\]{}<>«»‹›]")
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = frozenset("([{<«‹"), frozenset(")]}>»›")


def is_rtl(text: str) -> bool:
    """Returns whether more than half of a text's letters are right-to-left."""
    n_rtl = len(RTL.findall(text))
    return n_rtl > 0 and 2 * n_rtl > sum(map(str.isalpha, text))


def is_ltr(text: str) -> bool:
    """Returns whether more than half of a text's letters are left-to-right."""
    return 2 * len(RTL.findall(text)) < sum(map(str.isalpha, text))


def logical_order(shown: Sequence[str], from_right: bool) -> list[int]:
    """Returns the indices of a row's characters in reading order; ``shown`` lists them from left to right."""
    found = [unicodedata.bidirectional(one[:1]) for one in shown]
    # Next to Arabic letters, a sign like % is not part of the number
    classes = "".join(" " if one == "ET" and "AL" in found else _CLASSES.get(one, " ") for one in found)
    if from_right:
        return _reversed(classes, 0, len(classes))
    order: list[int] = []
    for run in _RTL_RUN.finditer(classes):
        order += [*range(len(order), run.start()), *_reversed(classes, *run.span())]
    return [*order, *range(len(order), len(classes))]


def _reversed(classes: str, start: int, end: int) -> list[int]:
    """Returns the indices ``[start, end)`` from right to left; left-to-right runs keep their order."""
    order: list[int] = []
    at = start
    for run in _LTR.finditer(classes, start, end):
        order += [*range(at, run.start()), *range(run.end() - 1, run.start() - 1, -1)]
        at = run.end()
    return [*order, *range(at, end)][::-1]


def paired(text: str, from_right: bool) -> str:
    """Returns a text in logical order whose brackets open before they close; PDFium mirrors some of them."""
    if not _BRACKET.search(text):
        return text
    one, other = (text.translate(_MIRRORED), text) if from_right else (text, text.translate(_MIRRORED))
    opens = cycle((True, False))
    in_turn = _BRACKET.sub(
        lambda found: found[0] if (found[0] in _OPENING) == next(opens) else found[0].translate(_MIRRORED), text
    )
    return min((one, other, in_turn), key=_unpaired)


def _unpaired(text: str) -> int:
    n_open = n_wrong = 0
    for letter in text:
        if letter in _OPENING:
            n_open += 1
        elif letter in _CLOSING:
            n_wrong += not n_open
            n_open = max(0, n_open - 1)
    return n_wrong + n_open
