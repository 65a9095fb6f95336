"""The quotation that carries an answer: the whole sentence, table row or list item around the answering words.
Headings, numbering, dot leaders and punctuation alone are not quotations."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wim_edge import words
from wim_edge.documents import Document, Segment
from wim_edge.documents.tables import ROW, header_above, line_spans
from wim_edge.documents.units import inked, is_numbered_title, siblings, unit_spans

_CLAUSE = re.compile(r"[^,;\s][,;](?=\s)")
_LABEL = 60  # the most characters of a line that introduces the next lines ("Account:")
_NO_WORDS = re.compile(r"[\W_]*|\W*\d{1,4}\W*")
_LEADER = re.compile(r"(?:\. ?){4,} *\w+\s*")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_SLANTED = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,80}?)(?<=[^\s*])\*(?![\w*])")
_PARTED = re.compile(r"(?<=\w)[\u2010\u00ad]\n\s*(?=\w)")
_MARKDOWN = re.compile(r"#{1,6} |<!--")
_LONGEST_BARE = 300  # the most characters of a bare line


@dataclass(frozen=True)
class Quotation:
    """Characters ``[start, end)`` of a document. ``header``: the table's header for a row, else empty."""

    start: int
    end: int
    header: str = ""


def quotation(document: Document, segment: Segment, start: int, end: int, longest: int) -> Quotation:
    """Returns the quotation around characters ``[start, end)`` of the document, within the segment. If it has over
    ``longest`` characters, it is cut around this range, at clauses if possible. A line above that introduces it
    ("Account:") is included. If list items follow that line, as many as fit are: one would look like the whole list."""
    text, at = segment.text, start - segment.start
    spans = unit_spans(text)
    first = next((n for n, (_, stop) in enumerate(spans) if at < stop), len(spans) - 1)
    last = next((n for n, (_, stop) in enumerate(spans) if end - segment.start <= stop), len(spans) - 1)
    before = text[slice(*spans[first - 1])].strip() if first else ""
    if before.endswith(":") and len(before) <= _LABEL:
        first -= 1
        begin, items = spans[first][0], siblings(document, start, end)
        stop = items[-1][1] - segment.start if items else 0
        while last + 1 < len(spans) and spans[last + 1][0] < stop and spans[last + 1][1] - begin <= longest:
            last += 1
    left, right = segment.start + spans[first][0], segment.start + spans[last][1]
    if right - left > longest:
        left, right = _around(document.text, left, right, start, end, longest)
    left, right = inked(document.text, left, right)
    right = max(right, end)
    row = document.text[left:right].strip()
    header = header_above(document.text, left) if "\n" not in row and ROW.search(row) else ""
    return Quotation(left, right, header)


def words_lost(text: str, question: str) -> list[tuple[int, int, float]]:
    """Returns (start, end, missed points) of each sentence, list item or row of ``text`` (`words.missed_points`)."""
    spans = unit_spans(text)
    held = [words.without_endings(text[start:end]) for start, end in spans]
    missed = words.missed_points(held, words.without_endings(question))
    return [(start, end, lost) for (start, end), lost in zip(spans, missed, strict=True)]


def on_one_line(text: str) -> str:
    """Returns a text on one line, without Markdown's bold and italic marks and hyphenation."""
    return _SLANTED.sub(r"\1", _BOLD.sub(r"\2", " ".join(_PARTED.sub("", text).split())))


def bare_lines(document: Document, segment: Segment) -> list[tuple[int, int]]:
    """Returns ``[start, end)`` of the segment's bare lines: headings, leaders, no words. Empty if all are bare."""
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


def _is_bare(line: str, sections: set[str], following: str) -> bool:
    if _NO_WORDS.fullmatch(line) or _LEADER.search(line) or _MARKDOWN.match(line):
        return True
    plain = line.strip("*_ ")
    title = plain.lstrip("§ 0123456789.")  # with a value in it, it is an item
    return plain in sections or (is_numbered_title(plain, following) and not re.search(r"\d|:", title))


def _around(text: str, left: int, right: int, start: int, end: int, longest: int) -> tuple[int, int]:
    """Returns a part of ``[left, right)`` around ``[start, end)``, of at most ``longest`` characters unless
    ``[start, end)`` is longer. The part begins at a word, and ends at a clause or a word if possible."""
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
