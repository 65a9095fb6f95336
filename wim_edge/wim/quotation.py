"""The quotation that carries an answer: the whole sentence, table row or list item around a run of a document.

A heading, numbering, a page number, a dot leader or punctuation alone is no quotation: it carries nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wim_edge import words
from wim_edge.documents import Document, Segment, sentences
from wim_edge.documents.segments import MONTH
from wim_edge.documents.tables import ROW, RULE, header_above, line_spans

_CLAUSE = re.compile(r"[^,;\s][,;](?=\s)")
_LABEL = 60
"""The most characters of a line that ends with a colon and names the lines below it."""
_NO_WORDS = re.compile(r"[\W_]*|\W*(?:page|seite|p\.)?\W*\d{1,4}\W*(?:(?:of|von|/)\W*\d{1,4}\W*)?", re.I)
_LEADER = re.compile(r"(?:\. ?){4,} *\w+\s*")
_ITEM = re.compile(r"^(?:[-*•–]|\d{1,3}[.)]|\(\w\)|[a-z]\))\s")
_MARK = re.compile(r"(?<!\w)\((?:[a-z]|[ivx]{1,4}|\d{1,2})\)\s")
_JOIN = re.compile(r",\s+(?:(?:and|or|und|oder|et|ou|y|o|e)\s+)?|\s+(?:and|und|et|y)\s+")
_AND = re.compile(r"\b(?:and|or|und|oder|et|ou|y|o|e)\b")
_END_OF_ITEM = re.compile(r"(?:[\s,;.]|\b(?:and|or|und|oder|et|ou|y|o)$)+$")
_AND_NAME = re.compile(r"\s+(?:and|und|et|y)\s+[A-ZÀ-Þ][\w.’'-]*(?:\s+[A-ZÀ-Þ][\w.’'-]*){0,3}(?=[.,;)]|\s|$)")
_ITEM_WORDS = 6
"""The most words of an item that a comma parts from the next one."""
_NUMBER = re.compile(r"[\W\d]*\d[\W\d]*")
_NAMED = re.compile(r"(?P<name>[^\W\d]+\s+)[\W\d]*\d[\W\d]*")
_BEFORE_ITEMS = 2
"""The most words between a run and the list that it introduces."""
_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s)>\]]+\w"  # addresses
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"  # IBANs
    r"|(?:\+|\(?\b0)\d[\d ()/-]{5,}\d|\b\d{3}-\d{3,4}(?:-\d{4})?\b"  # telephone numbers
    r"|\b\w*[\dA-Z]\w*(?:[-/]\w+)+\b"  # codes
    r"|\b[^\W_]+(?:_+[^\W_]+)+\b"  # names of programs' parts
    r"|\d+(?:[.,]\d+)+|\d{1,3}(?: \d{3})+"  # numbers
)
_DATE = re.compile(
    rf"(?<![.,\d])\b(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er)?\.? (?:de |of )?{MONTH}(?:\.?,? (?:de )?\d{{4}}\b)?"
    rf"|\b{MONTH} \d{{1,2}}\b(?:,? \d{{4}}\b)?",
)
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_SLANTED = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,80}?)(?<=[^\s*])\*(?![\w*])")
_PARTED = re.compile(r"(?<=\w)[\u2010\u00ad]\n\s*(?=\w)")
_MARKDOWN = re.compile(r"#{1,6} ")
_NUMBERED = re.compile(
    r"(?:(?:article|section|clause|chapter|part|annex|appendix|§)\s*)?"
    r"(?:\d{1,2}(?:\.\d{1,2})*[.)]?|[IVX]{1,5}\.)\s+",
    re.I,
)
_HEADING_WORDS = 8
_IS_CODE = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])\w")
_CODES = re.compile(r"\b[A-Za-z]{1,5}[:./_-]\d[\w:./-]*\b")
"""Codes of more than one word: "E:01", "X-100/2"."""
_CODE = 12.0
"""The factor by which a word of letters and digits weighs more."""
_LONGEST_BARE = 300
"""The most characters of a line that can be a heading, a dot leader or a page number."""
_NEAR = 200
"""The characters before and after a run in which the value that the run is a part of is looked for."""


@dataclass(frozen=True)
class Quotation:
    """Characters ``[start, end)`` of a document; ``header`` is the table's, if they are a row of one, else empty."""

    start: int
    end: int
    header: str = ""


def quotation(document: Document, segment: Segment, start: int, end: int, longest: int) -> Quotation:
    """Returns the quotation that carries the characters ``[start, end)`` of the document, which stand in the segment.

    A sentence, row or item of more than ``longest`` characters is cut around them, at clauses if there are any. A line
    that names the lines below it ("Account:") comes along, with as many items below it as there is room for: the first
    one alone would look like all of them.
    """
    text, at = segment.text, start - segment.start
    spans = [row for span in sentences(text) for row in _rows(text, *span)]
    first = next((n for n, (_, stop) in enumerate(spans) if at < stop), len(spans) - 1)
    last = next((n for n, (_, stop) in enumerate(spans) if end - segment.start <= stop), len(spans) - 1)
    before = text[slice(*spans[first - 1])].strip() if first else ""
    if before.endswith(":") and len(before) <= _LABEL:
        first -= 1
        begin = spans[first][0]
        is_item = [_ITEM.match(text[slice(*span)].strip()) is not None for span in spans]
        while last + 1 < len(spans) and is_item[last] and is_item[last + 1] and spans[last + 1][1] - begin <= longest:
            last += 1
    left, right = segment.start + spans[first][0], segment.start + spans[last][1]
    if right - left > longest:
        left, right = _around(document.text, left, right, start, end, longest)
    left += _blank(document.text[left:right])
    right -= _blank(document.text[left:right][::-1])
    right = max(right, end)
    return Quotation(left, right, _header(document.text, left, right))


def words_lost(segment: Segment, question: str) -> list[tuple[int, int, float]]:
    """Returns the sentences and rows of a segment, as characters of its text, with the weight of the question's words
    that each lacks and the best one has. A word weighs log(1 + N / n) if n of the N sentences have it; a code (E3)
    weighs more, as a row with another code is about something else."""
    spans = [row for span in sentences(segment.text) for row in _rows(segment.text, *span)]
    asked, codes = words.without_endings(question), {code.casefold() for code in _CODES.findall(question)}
    held = []
    for start, end in spans:
        said = segment.text[start:end]
        held.append(words.without_endings(said) & asked | {code for code in codes if code in said.casefold()})
    counts = Counter(word for found in held for word in found)
    worth = {word: math.log(1 + len(spans) / n) * (_CODE if _IS_CODE.match(word) else 1) for word, n in counts.items()}
    weights = [sum(worth[word] for word in found) for found in held]
    most = max(weights, default=0.0)
    return [(start, end, most - weight) for (start, end), weight in zip(spans, weights, strict=True)]


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


def items_around(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Returns the items of the list, or the rows of the table without its header, that the characters stand in, each
    as characters; an empty list if they stand in neither."""
    for is_one, lines in ((_ITEM, _item_spans(text)), (ROW, list(line_spans(text)))):
        at = next((n for n, (left, right) in enumerate(lines) if left <= start < right), -1)
        if at < 0 or not is_one.search(text[slice(*lines[at])].strip()):
            continue
        first = last = at
        while first and is_one.search(text[slice(*lines[first - 1])].strip()):
            first -= 1
        while last + 1 < len(lines) and is_one.search(text[slice(*lines[last + 1])].strip()):
            last += 1
        found = lines[first : last + 1]
        if is_one is ROW:
            rows = [line for line in found if not RULE.fullmatch(text[slice(*line)].strip())]
            found = rows[1:] if len(rows) > 1 and header_above(text, rows[1][0]) else rows
        if len(found) > 1:
            return [_inked(text, left, right) for left, right in found]
    return []


def _item_spans(text: str) -> list[tuple[int, int]]:
    """Returns the lines that are not blank; an item includes the indented lines below it, which go on with it."""
    found: list[tuple[int, int]] = []
    is_open = False
    for start, end in line_spans(text):
        line = text[start:end]
        if not line.strip():
            is_open = False
        elif is_open and line[0] in " \t" and not _ITEM.match(line.strip()):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
            is_open = _ITEM.match(line.strip()) is not None
    return found


def introduced(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Returns the items of the list that begins below the line of these characters, if the line ends with them and does
    not end a sentence ("You need:", "Good cause is in particular that"); else an empty list."""
    stop = text.find("\n", end)
    rest = text[end:stop].strip() if stop >= 0 else ""
    if stop < 0 or rest.endswith((".", "!", "?")) or len(rest.split()) > _BEFORE_ITEMS:
        return []
    below = stop + _blank(text[stop : stop + _NEAR])
    begun = _ITEM.match(text[below : below + _LABEL]) and not text[start:end].endswith((".", "!", "?"))
    return items_around(text, below, below + 1) if begun else []


def enumerated(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Returns the items of "(a) ...; (b) ..." between these characters; none if there are fewer than two."""
    marks = list(_MARK.finditer(text, start, end))
    ends = [*(mark.start() for mark in marks[1:]), end]
    return _items(text, [(mark.end(), after) for mark, after in zip(marks, ends, strict=True)]) if marks else []


def joined(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Returns the items that these characters join, "A, B and C"; none if there is only one, or they are clauses."""
    joins = list(_JOIN.finditer(text, start, end))
    starts, ends = [start, *(join.end() for join in joins)], [*(join.start() for join in joins), end]
    parts = list(zip(starts, ends, strict=True))
    if any(len(text[slice(*part)].split()) > _ITEM_WORDS for part in parts):
        return []
    found = _items(text, parts)
    named = _NAMED.fullmatch(text[slice(*found[0])]) if found else None
    if named and all(_NUMBER.fullmatch(text[slice(*item)]) for item in found[1:]):
        found[0] = (found[0][0] + named.end("name"), found[0][1])  # "plots 7, 12 and 19": the word is of all three
    return found


def listed_on(text: str, start: int, end: int, stop: int, *, pair: bool = False) -> int | None:
    """Returns the end of a list that goes on from these characters, "A, B (of C), and D"; None unless two more items
    follow before ``stop``, the last after an "and". ``pair``: two names are a list too, "Ann Lee and Bob"."""
    names = _AND_NAME.match(text, end, stop) if pair and text[start:end].istitle() else None
    if names:
        return names.end()
    joins = [
        join for join in _JOIN.finditer(text, end, stop)
        if text.count("(", end, join.start()) == text.count(")", end, join.start())
    ]  # fmt: skip
    last = next((n for n in range(len(joins) - 1, 0, -1) if _AND.search(joins[n].group())), None)
    if last is None or "," not in joins[0].group() or text[end : joins[0].start()].strip():
        return None
    starts, ends = [join.end() for join in joins[: last + 1]], [join.start() for join in joins[1 : last + 1]]
    if any(len(text[left:right].split()) > _ITEM_WORDS * 2 for left, right in zip(starts, ends, strict=False)):
        return None
    close = re.compile(r"[,;:]\s|[.!?]?\s*$").search(text, starts[-1], stop)
    return close.start() if close else stop


def on_one_line(text: str) -> str:
    """Returns a text in the form for a person: on one line, without the asterisks that make Markdown's words bold or
    italic, or a hyphen that parts a word at a line's end."""
    return _SLANTED.sub(r"\1", _BOLD.sub(r"\2", " ".join(_PARTED.sub("", text).split())))


def is_item(text: str, start: int, end: int, sentence: tuple[int, int]) -> bool:
    """Tells whether the characters are one of three or more things that the sentence lists, "A, B, C and D", and not
    the first of them."""
    joins = list(_JOIN.finditer(text, *sentence))
    last = next((n for n in range(len(joins) - 1, 0, -1) if _AND.search(joins[n].group())), None)
    if last is None:
        return False
    first = last
    while first and "," in joins[first - 1].group() and _is_short(text[joins[first - 1].end() : joins[first].start()]):
        first -= 1
    begins = any(start == join.end() for join in joins[first : last + 1])
    return last > first and begins and _JOIN.search(text, start, end) is None


def _is_short(text: str) -> bool:
    return len(text.split()) <= _ITEM_WORDS * 2


def _items(text: str, parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the parts without blanks around them and marks at their ends; none if there is only one."""
    inked = [_inked(text, *part) for part in parts]
    found = [(start, start + len(_END_OF_ITEM.sub("", text[start:end]))) for start, end in inked]
    found = [(start, end) for start, end in found if start < end]
    return found if len(found) > 1 else []


def _inked(text: str, start: int, end: int) -> tuple[int, int]:
    return start + _blank(text[start:end]), end - _blank(text[start:end][::-1])


def bare_lines(document: Document, segment: Segment) -> list[tuple[int, int]]:
    """Returns the lines of the segment's text, each as characters, that are headings, page numbers, dot leaders or no
    words at all; none if no other line would be left."""
    sections = {mark.section for mark in document.marks if mark.section}
    lines = list(line_spans(segment.text))
    following, found = "", []
    for start, end in reversed(lines):
        line = segment.text[start:end].strip()
        if len(line) <= _LONGEST_BARE and _is_bare(line, sections, following):
            found.append((start, end))
        following = line or following
    found.sort()
    left = sum(end - start for start, end in lines) - sum(end - start for start, end in found)
    return found if left > 0 and len(found) < len(lines) else []


def _rows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields a sentence, or the rows of a table, which no full stop divides."""
    lines = [(start + left, start + right) for left, right in line_spans(text[start:end])]
    if sum(bool(ROW.search(text[left:right].strip())) for left, right in lines) < 2:
        yield start, end
        return
    yield from lines


def _is_bare(line: str, sections: set[str], following: str) -> bool:
    is_none = not line or _NO_WORDS.fullmatch(line) or _LEADER.search(line)
    if is_none or line.startswith("<!--") or _MARKDOWN.match(line):
        return True
    plain = line.strip("*_ ")
    if plain in sections:
        return True
    number, words = _NUMBERED.match(plain), len(plain.split())
    if number is None or words > _HEADING_WORDS or re.search(r"\d|:", plain[number.end() :]):
        return False
    # A numbered title stands above its text, or the first number below its own; an item is followed by the next one
    own = plain[: number.end()].strip(" .)")
    below = _NUMBERED.match(following) is None or following.startswith(f"{own}.")
    return below and len(following.split()) > words


def _header(text: str, start: int, end: int) -> str:
    """Returns the header of the table in which a row stands, as it is; empty if the characters are no row."""
    row = text[start:end].strip()
    return header_above(text, start) if "\n" not in row and ROW.search(row) else ""


def _around(text: str, left: int, right: int, start: int, end: int, longest: int) -> tuple[int, int]:
    """Returns at most ``longest`` characters around the run, from a word's beginning to a clause's end if possible."""
    spare = max(0, longest - (end - start))
    begin = max(left, start - spare // 2)
    stop = min(right, max(end, begin + longest))
    if begin > left:
        begin = min(start, begin + len(re.match(r"\S*\s*", text[begin:start]).group()))  # type: ignore[union-attr]
    if stop < right:
        clauses = [match.end() for match in _CLAUSE.finditer(text, end, stop + 1)]
        space = max(text.rfind(" ", end, stop), text.rfind("\n", end, stop))
        stop = clauses[-1] if clauses else max(end, space) if space > 0 else max(end, stop)
    return begin, stop


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())
