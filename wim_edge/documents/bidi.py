"""The logical order of letters that a page shows in a row: the Unicode bidirectional algorithm, from the outcome back.

A page holds the places of its letters, and programs draw text from right to left in many orders. What is sure is what a
reader sees: so the places decide, and the letters' classes say which of them run from left to right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import cycle

RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""A letter of a script that is written from right to left."""
_CLASSES = {"L": "L", "R": "R", "AL": "R", "EN": "N", "AN": "N", "ES": "S", "CS": "S", "ET": "T"}
_LTR = re.compile("L(?:[LNST ]*[LN])?|(?:(?<!T)T++)?N(?:S?N)*T*")
"""Letters from left to right with the numbers and signs among them, or a number alone."""
_RTL_RUN = re.compile("R(?:[RNST ]*R)?")
_BRACKET = re.compile(r"[()\[\]{}<>«»‹›]")
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = frozenset("([{<«‹"), frozenset(")]}>»›")


def is_rtl(text: str) -> bool:
    """Returns whether more letters of a text are written from right to left than from left to right."""
    n_rtl = len(RTL.findall(text))
    return n_rtl > 0 and 2 * n_rtl > sum(map(str.isalpha, text))


def is_ltr(text: str) -> bool:
    """Returns whether more letters of a text are written from left to right."""
    return 2 * len(RTL.findall(text)) < sum(map(str.isalpha, text))


def logical_order(shown: Sequence[str], from_right: bool) -> list[int]:
    """Returns the indices of a row's characters, given from the left as they are shown, in the order of reading."""
    found = [unicodedata.bidirectional(one[:1]) for one in shown]
    # Behind Arabic letters a sign like % is none of the number
    classes = "".join(" " if one == "ET" and "AL" in found else _CLASSES.get(one, " ") for one in found)
    if from_right:
        return _reversed(classes, 0, len(classes))
    order: list[int] = []
    for run in _RTL_RUN.finditer(classes):
        order += [*range(len(order), run.start()), *_reversed(classes, *run.span())]
    return [*order, *range(len(order), len(classes))]


def _reversed(classes: str, start: int, end: int) -> list[int]:
    """Returns the indices ``[start, end)`` from the right, but those of a run from left to right as they are."""
    order: list[int] = []
    at = start
    for run in _LTR.finditer(classes, start, end):
        order += [*range(at, run.start()), *range(run.end() - 1, run.start() - 1, -1)]
        at = run.end()
    return [*order, *range(at, end)][::-1]


def paired(text: str, from_right: bool) -> str:
    """Returns a text in logical order with brackets that open before they close: PDFium mirrors some of them."""
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
