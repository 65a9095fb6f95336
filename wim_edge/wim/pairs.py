"""Values that a sentence gives to several things in turn: "125 pounds on Essential, 75 on Classic and nil on Premier",
and those after a label, "port: 8123".

A small model takes the last one, whichever is asked for, or the label; the question names the thing whose value is
meant.
"""

from __future__ import annotations

import re

from wim_edge import words

_VALUE = r"(?:[£€$] ?)?\d[\d.,]*\d?(?: ?%| [^\W\d]+){0,2}?|nil|none|nothing|free"
_PAIR = re.compile(
    rf"(?<!\w)(?P<value>{_VALUE})\s+(?P<joins>on|for|in|at|with|to|per)\s+(?:(?:the|an?|each|every)\s+)?"
    r"(?P<thing>[^\W\d][^\W_]*(?:[ '’-][^\W_]+){0,3}?)(?=\s*[,;.)]|\s+(?:and|or|but)\s|\s*$)",
    re.IGNORECASE,
)
_AFTER_LABEL = re.compile(r"[\"'*_]{0,3}[ \t]{0,2}[:=][ \t\"'*_]*(?P<value>[^\s\"'*{\[](?:[^\n\"]*[^\s\"',;*_])?)")
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
    of the label's words; else None."""
    said = words.without_endings(text[start:end])
    found = _AFTER_LABEL.match(text, end)
    return found.span("value") if found and said and said <= words.without_endings(question) else None


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
