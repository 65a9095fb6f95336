"""Values in a text that are whole or another one: codes, addresses, accounts, telephone numbers, numbers, dates."""

from __future__ import annotations

import re

from wim_edge.documents.segments import MONTH

_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s)>\]]+\w"  # addresses
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"  # IBANs
    r"|(?:\+|\(?\b0)\d[\d ()/-]{5,}\d|\b\d{3}-\d{3,4}(?:-\d{4})?\b"  # telephone numbers
    r"|\b\w*[\dA-Z]\w*(?:[-/]\w+)+\b"  # codes
    r"|\b[^\W_]+(?:_+[^\W_]+)+\b"  # names of programs' parts
    r"|[£€$¥]?\d+(?:[.,]\d+)+(?:\s?[%€£])?|\d{1,3}(?: \d{3})+|[£€$¥]\d+"  # numbers and amounts
)
_DATE = re.compile(
    rf"(?<![.,\d])\b(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?\.? (?:de |of )?{MONTH}(?:\.?,? (?:de )?\d{{4}}\b)?"
    rf"|\b{MONTH} \d{{1,2}}\b(?:,? \d{{4}}\b)?",
)
_NEAR = 200  # the characters before and after some others in which the value that they are a part of is looked for


def whole_value(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns the characters ``[start, end)`` of the text, widened to the whole of a code, address, number, account or
    date within which they begin or end: half of one is another one. A year alone stays a year."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    near = max(line, start - _NEAR), min(len(text) if stop < 0 else stop, end + _NEAR)
    kinds = (_VALUE,) if text[start:end].isdecimal() else (_VALUE, _DATE)
    for match in (match for kind in kinds for match in kind.finditer(text, *near)):
        if match.start() < end and start < match.end():
            start, end = min(start, match.start()), max(end, match.end())
    return start, end
