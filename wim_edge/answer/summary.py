"""The summary of a text in sentences of its own: its beginning, and its sections with a sentence of each.

Of a text without sections, or with very many, the sentence of each part that has most of the words that are frequent in
the whole (the centroid of Radev et al. 2004).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from itertools import pairwise

from wim_edge import words
from wim_edge.answer.pointed import Answer
from wim_edge.documents import Document, Segment, sentences
from wim_edge.documents.tables import line_spans
from wim_edge.reading import events
from wim_edge.reading.quotation import bare_lines, on_one_line

_BEGINNING = 4000
"""The characters of a document in which its first sentences stand."""
_SENTENCES, _SECTIONS = 3, 20
_WORDS = 4, 45
"""The fewest words of a sentence that tells something, and the most of one that is quoted alone."""
_FEWEST = 2
"""The fewest words of a sentence that a full stop ends."""
_LONGEST = 400
"""The most characters of a sentence that are shown."""
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_PARTS, _CENTRAL = 4, 40
"""The parts of a text without sections, with a sentence shown of each; and the number of a text's common words."""
_MARKER = re.compile(r"^(?:[-*•–]|\d{1,3}[.)]) ")
_WORDS_OF = re.compile(r"\S*\w\S*")


def _read_parts(document: Document) -> Seq[events.Chars]:
    """Returns the parts of a document that are read; all of it if it has none."""
    return document.parts or ((0, len(document.text)),)


def summary(documents: Seq[Document]) -> Answer:
    """Returns the beginning of each document in its own words, and its sections with their first sentences; of one
    without sections, or with very many, its central sentences."""
    parts, quotes = [], []
    for document in documents:
        spans = _telling_sentences(document)
        first = _first_sentences(document, spans)
        if not first:
            continue
        quotes.append(_quote(document, first))
        title = document.own_title or _heading(document) or (document.name if len(documents) > 1 else "")
        sections = [section for section in _sections(document) if section[0] != title]
        shown = []
        if len(sections) > _SECTIONS:
            shown.append(f"Sections: {' · '.join(name for name, _, _ in sections[:_SECTIONS])} …")
        elif sections:
            told = [(name, _section_sentence(document, spans, start, end, first)) for name, start, end in sections]
            quotes += [_quote(document, span) for _, span in told if span]
            shown.append("\n".join(
                f"- {name}: “{_MARKER.sub('', on_one_line(document.text[slice(*span)]))}”" if span else f"- {name}"
                for name, span in told
            ))  # fmt: skip
        if not 0 < len(sections) <= _SECTIONS:
            central = [_quote(document, span) for span in _central_sentences(document, spans, first)]
            quotes += central
            shown.append("\n".join(f"“{on_one_line(quote.text)}”" for quote in central))
        opening = f"“{on_one_line(document.text[slice(*first)])}”"
        parts.append("\n\n".join(part for part in (title, opening, *shown) if part))
    if not parts:
        return Answer("The text holds no sentence.", "not_found", support=0.0)
    short = on_one_line(quotes[0].text)
    return Answer("\n\n".join(parts), short=short, span=quotes[0].chars, quotes=tuple(quotes), support=1.0)


def _sections(document: Document) -> list[tuple[str, int, int]]:
    """Returns the sections by their titles, each with its first characters ``[start, end)``."""
    found: dict[str, tuple[int, int]] = {}
    starts = [(mark.start, mark.section) for mark in document.marks if mark.section]
    for (start, name), (end, _) in pairwise([*starts, (len(document.text), "")]):
        found.setdefault(name, (start, end))
    return [(name, start, end) for name, (start, end) in found.items()]


def _section_sentence(
    document: Document, spans: list[events.Chars], start: int, end: int, but: events.Chars
) -> events.Chars | None:
    """Returns the first whole sentence of a section, below its heading, that is not yet shown and not too long; None if
    there is none."""
    below = document.text.find("\n", start, end)
    if below >= 0 and (document.section(start) or "\n") in document.text[start:below]:
        start = below
    fits = (
        span for span in spans
        if start <= span[0] and span[1] <= end and not (but[0] <= span[0] < but[1]) and _is_whole(document, span)
        and len(document.text[slice(*span)].split()) <= _WORDS[1]
    )  # fmt: skip
    return next(fits, None)


def _heading(document: Document) -> str:
    """Returns the heading of Markdown's first level with which the text begins; empty if it begins otherwise."""
    first = next((mark for mark in document.marks if mark.section), None)
    return first.section or "" if first and document.text.lstrip().startswith("# ") else ""


def _quote(document: Document, span: events.Chars) -> events.Quote:
    place = document.place(*span)
    text = document.text[slice(*span)]
    return events.Quote(text, document.name, place.page, place.section, span, "", place.line, place.page_label)


def _telling_sentences(document: Document) -> list[events.Chars]:
    """Returns the sentences that are no headings or rows, as characters; long ones are cut."""
    text = document.text
    bare = set(bare_lines(document, Segment(0, 0, len(text), text, ())))
    found, parts = [], _read_parts(document)
    for left, right in (piece for span in sentences(text) for piece in _pieces(text, span, bare)):
        is_read = any(first <= left and right <= last for first, last in parts)
        sentence = text[left:right]
        size = len(_WORDS_OF.findall(sentence)) + len(_UNSPACED.findall(sentence)) // 2
        if not is_read or size < (_FEWEST if sentence[-1] in ".!?。！？" else _WORDS[0]):
            continue
        if right - left > _LONGEST:
            right = max(left + 1, text.rfind(" ", left, left + _LONGEST))
        found.append((left, right))
    return found


def _pieces(text: str, span: events.Chars, bare: set[events.Chars]) -> Iterator[events.Chars]:
    """Yields the parts of a sentence that stand together, without the headings, rows and blank lines that no full stop
    parts from it; each item of a list alone."""
    begun: events.Chars | None = None
    for start, end in line_spans(text, *span):
        line = text[start:end].strip()
        is_none = not line or (start, end) in bare or "|" in line or "\t" in line
        if begun is not None and (is_none or _MARKER.match(line)):
            yield begun
            begun = None
        if not is_none:
            left, right = end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip())
            begun = (begun[0] if begun else left, right)
    if begun is not None:
        yield begun


def _first_sentences(document: Document, spans: list[events.Chars]) -> events.Chars | None:
    """Returns the first sentences of the beginning that follow each other, as characters; None if there are none."""
    return _following(document, [span for span in spans if span[0] < _BEGINNING] or spans[:1], _SENTENCES)


def _following(document: Document, spans: list[events.Chars], most: int) -> events.Chars | None:
    """Returns the first whole sentence with those that follow it directly, at most ``most`` of them."""
    if not spans:
        return None
    first = last = next((n for n, span in enumerate(spans) if _is_whole(document, span)), 0)
    told = {on_one_line(document.text[slice(*spans[first])])}
    for (_, end), (start, stop) in pairwise(spans[first : first + most]):
        following = on_one_line(document.text[start:stop])
        if document.text[end:start].strip() or following in told:
            break
        told.add(following)
        last += 1
    return spans[first][0], spans[last][1]


def _is_whole(document: Document, span: events.Chars) -> bool:
    return document.text[span[1] - 1] in ".!?。！？"


def _central_sentences(document: Document, spans: list[events.Chars], first: events.Chars) -> list[events.Chars]:
    """Returns the sentences with most of the text's common words, one of each part behind its first sentences."""
    said = on_one_line(document.text[slice(*first)])
    different = {on_one_line(document.text[slice(*span)]): span for span in reversed(spans) if span[0] >= first[1]}
    behind = sorted(span for told, span in different.items() if told not in said and _is_whole(document, span))
    if len(behind) < _PARTS * _PARTS:
        return []
    texts = [words.without_endings(document.text[slice(*span)]) for span in behind]
    counts = Counter(word for text in texts for word in text if len(word) > 2)
    common = {word for word, _ in counts.most_common(_CENTRAL)}
    size = len(behind) / _PARTS
    found = []
    for part in range(_PARTS):
        numbers = range(round(part * size), round((part + 1) * size))
        fitting = [n for n in numbers if len(document.text[slice(*behind[n])].split()) <= _WORDS[1]]
        if fitting:
            best = max(fitting, key=lambda n: (sum(counts[word] for word in texts[n] & common), -n))
            found.append(behind[best])
    return found
