"""Values that a sentence gives to several things in turn: "125 pounds on Essential, 75 on Classic and nil on Premier",
those after a label, "port: 8123", and the one that takes another's place, "from £118 to £131".

A small model takes the last one, whichever is asked for, or the label, or the old one; the question names the thing
whose value is meant.
"""

from __future__ import annotations

import re
from itertools import pairwise

from wim_edge import words
from wim_edge.documents.segments import MONTH
from wim_edge.wim.answer_form import NUMBERS

_VALUE = r"(?:[£€$] ?)?\d[\d.,]*\d?(?: ?%| [^\W\d]+){0,2}?|nil|none|nothing|free"
_PAIR = re.compile(
    rf"(?<!\w)(?P<value>{_VALUE})\s+(?P<joins>on|for|in|at|with|to|per)\s+(?:(?:the|an?|each|every)\s+)?"
    r"(?P<thing>[^\W\d][^\W_]*(?:[ '’-][^\W_]+){0,3}?)(?=\s*[,;.)]|\s+(?:and|or|but)\s|\s*$)",
    re.IGNORECASE,
)
_AFTER_LABEL = re.compile(r"[\"'*_]{0,3}[ \t]{0,2}[:=][ \t\"'*_]*(?P<value>[^\s\"'*{\[](?:[^\n\"]*[^\s\"',;*_])?)")
_NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?!\d)|\d(?:[\d.,]*\d)?)(?![.,:/]?\d)"
_UNIT = (
    r"(?:%|€|(?:p|kg|g|mm|cm|m|km|ml|l|kWh|kW|euros?|pounds?|pence|dollars?|seconds?|minutes?|hours?|days?"
    r"|weeks?|months?|years?|miles?|stunden?|tagen?|wochen?|monate?n?|jahren?|per ?cent)(?!\w))"
)
_YEAR = rf"\d{{4}}\b(?!\s?{_UNIT})"
_DATE = (
    rf"\d{{1,2}}(?:\s?(?:[-–]|and|to|und|bis)\s?\d{{1,2}})?(?:st|nd|rd|th)?[.\s-]{{1,2}}(?:of |de )?{MONTH}"
    rf"(?:[.,\s-]{{1,2}}(?:de )?{_YEAR})?|{MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s{_YEAR})?|{MONTH}\s\d{{4}}\b"
    r"|\d{4}[/-]\d\d?[/-]\d\d?\b|\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)\d{2,4}\b"
)
_AMOUNT = re.compile(
    rf"\b(?:{_DATE})|(?<![\w.,])(?<!\d[-:/])(?P<number>(?:(?P<money>[£€$]) ?)?"
    rf"(?:{_NUMBER}(?:\s?(?:[-–]|to|bis)\s?{_NUMBER})?|(?<!-)(?:{NUMBERS})\b)(?: ?(?P<unit>{_UNIT}))?)",
    re.IGNORECASE,
)
"""A date, whose numbers are no amounts, or an amount (``number``) or range of amounts."""
_ASKED_UNIT = re.compile(r"\b(?:in|how (?:many|much)|wie viele?|combien d(?:e |['’])|cuánt[oa]s) ?(\w+)", re.IGNORECASE)
_PART = re.compile(r"[;,:()]\s|\s(?:and|or|but|plus|while|und|oder|et|ou|y)\s", re.IGNORECASE)
_SUBJECT = re.compile(
    r"(?:(?:how much (?:is|was|are|were)|what(?:'s|\s+(?:is|was|are|were))|wie hoch (?:ist|war|sind)) (?P<what>.+?)"
    r"(?:\s(?:of|for|in|on|per|at|to|with|from|by|für|von|im|pro)\b|\W*$)"
    r"|(?:.*\b)?(?:what|which|welche\w?) (?P<which>\w+(?: \w+)?) (?:is|are|was|were|will|must|ist|sind|wird)\b)",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:ris(?:es?|en|ing)|rose|go(?:es|ing)?|went|increas\w+|falls?|fell|drop\w*|reduc\w+|lower\w*|rais\w+|chang\w+"
    r"|mov\w+|postponed|rescheduled|brought|put|cut|up|down|extended|shortened|steig\w+|stieg\w*|erhöh\w+|sink\w*|sank"
    r"|gesenkt|änder\w+|geändert|verlegt|verschoben|angehoben|augment\w+|pass\w+|baiss\w+|sub\w+|aument\w+|baj\w+)\b",
    re.IGNORECASE,
)
_LONE = (
    rf"(?:[£€$] ?)?(?:\d(?:[\d.,:]*\d)?|(?:{NUMBERS})\b)(?: ?[%€£$]| ?[ap]\.?m\b"
    r"| (?!(?:from|to|on|as|in|with|at|per|and|for|after|when|this|next|by|because|starting|since|an?|each|auf|ab|für"
    r"|im|pro|à|par|por|con)\b)[^\W\d]+)?"
)
_FROM_TO = re.compile(
    rf"\b(?:from|von|vom|de|du|del) (?P<old>{_LONE}) (?:to|auf(?: den)?|à|au|al?) (?P<new>{_LONE})", re.IGNORECASE
)
"""A change, with the value before and the one after it."""
_BEFORE = re.compile(
    r"\b(?:was|were|did|had|used to|before|old|previous\w*|formerly|former|until|originally|war|waren|vorher|bisher\w*"
    r"|alte\w?|früher\w*)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\b(?:new|now|after|neu\w*|jetzt|künftig)\b", re.IGNORECASE)
_DIFFERENCE = re.compile(r"\b(?:by how much|um wie ?viel)\b", re.IGNORECASE)
_BARE = re.compile(r"\d{1,2}")
_BETWEEN = re.compile(r"\s*[,;]?\s*(?:(?:and|or|but)\s+)?", re.IGNORECASE)


def paired_value(text: str, start: int, end: int, at: int, question: str) -> tuple[int, int] | None:
    """Returns the value, as characters, of the one thing that the question names, if the sentence ``[start, end)``
    gives values to several in turn and one of those pairs stands at the character ``at``; else None."""
    asked = words.without_endings(question)
    for row in _in_turn(text, start, end):
        if not row[0].start() <= at < row[-1].end():
            continue
        things = [frozenset(words.without_endings(pair["thing"])) for pair in row]
        own = [thing - frozenset.intersection(*things) for thing in things]
        named = [pair for pair, thing in zip(row, own, strict=True) if thing and thing <= asked]
        return named[0].span("value") if len(named) == 1 else None
    return None


def labelled_value(text: str, start: int, end: int, question: str) -> tuple[int, int] | None:
    """Returns the value, as characters, that the line gives after the label ``[start, end)``, if the question has all
    of the label's words, or some of a key of JSON or of a program; else None."""
    label, asked = text[start:end], words.without_endings(question)
    said = {word for word in words.without_endings(label.replace("_", " ")) if len(word) > 1}
    found = _AFTER_LABEL.match(text, end)
    if found is None or not said or said.isdisjoint(asked):
        return None
    is_key = "_" in label or text[start - 1 : start] + text[end : end + 1] == '""'
    return found.span("value") if is_key or said <= asked else None


def nearest_value(text: str, start: int, end: int, run: tuple[int, int], question: str) -> tuple[int, int] | None:
    """Returns the amount of the sentence ``[start, end)``, as characters, around which most of the question's words
    stand, those of what it asks for above all, if there are fewer around the amount that is the run; of amounts with a
    unit that the question asks in and a run without one, that of those. Else None."""
    names = set(re.findall(r"\w+", question.casefold()))  # "6" of "Nordstrand 6" is none
    found = (one for one in _AMOUNT.finditer(text, start, end) if one["number"])
    amounts = [one for one in found if one[0].casefold() not in names]
    own = [at for at, one in enumerate(amounts) if run[0] <= one.start() and one.end() <= run[1]]
    if len(own) != 1 or len(amounts) < 2:
        return None
    asked, said = words.without_endings(question), _SUBJECT.match(question.strip())
    subject = words.without_endings(said["what"] or said["which"]) if said else set()
    bounds = [(one.end(), other.start()) for one, other in pairwise(amounts)]
    parts = [_PART.search(text, *one) for one in bounds]
    lefts = [start, *(part.end() if part else left for part, (left, _) in zip(parts, bounds, strict=True))]
    rights = [*(part.start() if part else right for part, (_, right) in zip(parts, bounds, strict=True)), end]
    around = [
        words.without_endings(f"{text[left : one.start()]} {text[one.end() : right]}") & asked
        for one, left, right in zip(amounts, lefts, rights, strict=True)
    ]
    mine, at_own = amounts[own[0]], own[0]
    scores = [len(there) + 2 * len(there & subject) for there in around]
    same = [
        at for at, one in enumerate(amounts)
        if one["money"] == mine["money"] and (one["unit"] == mine["unit"] or not mine["unit"])
    ]  # fmt: skip
    units = words.without_endings(" ".join(_ASKED_UNIT.findall(question)))
    in_unit = [at for at in same if words.without_endings(amounts[at]["unit"] or "") & units]
    best = max(in_unit or same, key=scores.__getitem__)
    is_better = scores[best] > scores[at_own] or (in_unit and at_own not in in_unit)
    return amounts[best].span() if is_better else None


def changed_value(text: str, start: int, end: int, run: tuple[int, int], question: str) -> tuple[int, int] | None:
    """Returns the value before or after a change that the sentence ``[start, end)`` tells, as characters, as the
    question asks for, where the run is one of the two or a number without a unit; else None."""
    is_past = _BEFORE.search(question) is not None
    if _DIFFERENCE.search(question) or (is_past and _AFTER.search(question)):
        return None
    for one in _FROM_TO.finditer(text, start, end):
        is_one = any(run[0] < one.end(side) and one.start(side) < run[1] for side in ("old", "new"))
        if (is_one or _BARE.fullmatch(text, *run)) and _CHANGES.search(text, start, one.start()):
            return one.span("old" if is_past else "new")
    return None


def _in_turn(text: str, start: int, end: int) -> list[list[re.Match[str]]]:
    """Returns the rows of two or more pairs that follow each other with the same word between their two halves."""
    rows: list[list[re.Match[str]]] = []
    for pair in _PAIR.finditer(text, start, end):
        last = rows[-1][-1] if rows else None
        goes_on = last is not None and last["joins"].casefold() == pair["joins"].casefold()
        if goes_on and last is not None and _BETWEEN.fullmatch(text, last.end(), pair.start()):
            rows[-1].append(pair)
        else:
            rows.append([pair])
    return [row for row in rows if len(row) > 1]
