"""Answers from the whole of a text, which no passage holds: what it is about, and what comes most often in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence as Seq

from wim_edge.documents import Document, Segment, sentences
from wim_edge.wim import events
from wim_edge.wim.answer_parts import Answer
from wim_edge.wim.quotation import bare_lines

_BEGINNING = 4000
"""Characters of a document in which its first sentences stand."""
_SENTENCES, _SECTIONS = 3, 20
_MOST_COMMON = re.compile(r"\b(\d{1,3}|two|three|five|ten|twenty)? ?most (?:common|frequent)\w* words?\b", re.I)
_NUMBERS = {"two": 2, "three": 3, "five": 5, "ten": 10, "twenty": 20}
_USUAL = 10
_WORD = re.compile(r"[^\W\d_]+")


def counted_answer(documents: Seq[Document], question: str) -> Answer | None:
    """Returns the commonest words, counted, where a question asks for them ("the 10 most common words"), else None."""
    asked = _MOST_COMMON.search(question)
    if asked is None or not documents:
        return None
    wanted = asked[1] or ""
    n = int(wanted) if wanted.isdecimal() else _NUMBERS.get(wanted.lower(), _USUAL)
    counts = Counter(word.casefold() for document in documents for word in _WORD.findall(document.text))
    found = [word for word, _ in counts.most_common(n)]
    return Answer(", ".join(found), short=", ".join(found), support=1.0)


def summary(documents: Seq[Document]) -> Answer:
    """Returns how each document begins, in its own words, and the titles of its sections."""
    parts, quotes = [], []
    for document in documents:
        first = _first_sentences(document)
        if not first:
            continue
        start, end = first
        place = document.place(start, end)
        quotes.append(
            events.Quote(document.text[start:end], document.name, place.page, place.section, (start, end))
        )
        begins = " ".join(document.text[start:end].split())
        title = document.title or (document.name if len(documents) > 1 else "")
        sections = list(dict.fromkeys(mark.section for mark in document.marks if mark.section))
        more = " …" if len(sections) > _SECTIONS else ""
        shown = f"\n\nSections: {' · '.join(sections[:_SECTIONS])}{more}" if sections else ""
        parts.append(f"{title}\n\n“{begins}”{shown}".strip())
    if not parts:
        return Answer("The text holds no sentence.", "not_found", support=0.0)
    short = " ".join(quotes[0].text.split())
    return Answer("\n\n".join(parts), short=short, span=quotes[0].chars, quotes=tuple(quotes), support=1.0)


def _first_sentences(document: Document) -> events.Chars | None:
    """The first sentences that are no headings, as characters; None where there are none."""
    text = document.text[:_BEGINNING]
    bare = bare_lines(document, Segment(0, 0, len(text), text, ()))
    spans = [
        (start, end) for start, end in sentences(text)
        if len(text[start:end].split()) > 3 and not any(a <= start and end <= b for a, b in bare)
    ]  # fmt: skip
    if not spans:
        return None
    first = next((n for n, (start, end) in enumerate(spans) if text[start:end].rstrip()[-1:] in ".!?。！？"), 0)
    last = first
    while last + 1 < len(spans) and last + 1 < first + _SENTENCES and spans[last + 1][0] == spans[last][1]:
        last += 1
    start, end = spans[first][0], spans[last][1]
    return start + len(text[start:end]) - len(text[start:end].lstrip()), start + len(text[start:end].rstrip())
