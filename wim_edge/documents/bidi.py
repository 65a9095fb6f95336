"""The reading order of the letters in a row on a PDF page: the Unicode bidirectional algorithm in reverse. Programs
store right-to-left letters in many orders, so only their positions on the page are reliable. This module takes the
letters from left to right, and reverses the right-to-left ones, which Unicode's bidirectional classes identify."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import cycle

RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")  # a right-to-left letter
_CLASSES = {"L": "L", "R": "R", "AL": "R", "EN": "N", "AN": "N", "ES": "S", "CS": "S", "ET": "T"}
"""Unicode's bidirectional classes, reduced to letters (L, R), numbers (N), separators (S) and signs such as % (T)."""
_LTR = re.compile("L(?:[LNST ]*[LN])?|(?:(?<!T)T++)?N(?:S?N)*T*")
"""A left-to-right run in a string of the classes in `_CLASSES`: letters and what is between them, or a number alone."""
_RTL_RUN = re.compile("R(?:[RNST ]*R)?")
_BRACKET = re.compile(r"[()\[\]{}<>«»‹›]")
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = frozenset("([{<«‹"), frozenset(")]}>»›")


def is_rtl(text: str, from_right: bool = False) -> bool:
    """Returns whether more than half of a text's letters are right-to-left. ``from_right``: half is enough."""
    n_rtl, n_letters = len(RTL.findall(text)), sum(map(str.isalpha, text))
    return 0 < n_rtl > n_letters / 2 or (from_right and 2 * n_rtl >= n_letters)


def logical_order(shown: Sequence[str], from_right: bool) -> list[int]:
    """Returns the indices, in reading order, of a row's characters, given as shown from left to right."""
    found = [unicodedata.bidirectional(one[:1]) for one in shown]
    # In a row with Arabic letters, a sign like % is not part of the number
    classes = "".join(" " if one == "ET" and "AL" in found else _CLASSES.get(one, " ") for one in found)
    if from_right:
        return _reversed(classes, 0, len(classes))
    order: list[int] = []
    for run in _RTL_RUN.finditer(classes):
        order += [*range(len(order), run.start()), *_reversed(classes, *run.span())]
    return [*order, *range(len(order), len(classes))]


def _reversed(classes: str, start: int, end: int) -> list[int]:
    """Returns the indices ``[start, end)`` in descending order, but those of a left-to-right run in ascending order."""
    order: list[int] = []
    at = start
    for run in _LTR.finditer(classes, start, end):
        order += [*range(at, run.start()), *range(run.end() - 1, run.start() - 1, -1)]
        at = run.end()
    return [*order, *range(at, end)][::-1]


def paired(text: str, from_right: bool) -> str:
    """Returns a text with its brackets mirrored (all, none, or so that they open and close in turn) to pair the most.
    PDFium mirrors only some brackets of right-to-left text. ``from_right``: on a tie, mirrors all."""
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
