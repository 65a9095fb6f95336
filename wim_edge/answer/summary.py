"""An extractive summary: a text's opening, and its sections with one sentence of each.

A text without sections, or with very many, is divided into four parts. Each part gives its most central sentence
(centroid, Radev et al. 2004). A text without sentences gives the columns of its tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence as Seq
from dataclasses import replace
from itertools import pairwise

from wim_edge import words
from wim_edge.answer.candidates import key
from wim_edge.answer.judged import Answer
from wim_edge.answer.quotes import quote
from wim_edge.documents import Document, Segment, sentences
from wim_edge.documents.tables import line_spans, outlines
from wim_edge.reading import events
from wim_edge.reading.quotation import bare_lines, on_one_line

_BEGINNING, _LONGEST = 4000, 400  # characters: the opening begins within the first; a sentence is cut at the second
_SENTENCES, _SECTIONS = 3, 20  # the most sentences of the opening; the most sections that get a sentence each
_WORDS = 4, 45  # the fewest words of a sentence without a full stop; the most words of a section's or central sentence
_FEWEST = 2  # the fewest words of a sentence with a full stop
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_PARTS, _CENTRAL = 4, 40  # parts of a text without sections; how many words count as common
_MARKER = re.compile(r"^(?:[-*•–]|\d{1,3}[.)]) ")
_WORDS_OF = re.compile(r"\S*\w\S*")
_NUMBERING = re.compile(r"^[\W\d]+")


def summary(documents: Seq[Document], question: str) -> Answer:
    """Returns an extract of each document: its opening with sections or central sentences, or the columns of its
    tables. If the question has the title or number of a section of a document, only this section is summed up."""
    parts, quotes, asked = [], [], f" {key(question)} "
    last = _number(question.split()[-1]) if question.strip() else ""  # "Section 7", but not "in 3 sentences"
    for document in documents:
        sections, spans = _sections(document), _telling_sentences(document)
        heading = _heading(document, sections, spans)
        titles = {at[0]: f" {key(_NUMBERING.sub('', at[0]))} " for at in sections if heading != at[0] and at[0][3:]}
        named = {name: (start, end) for name, start, end in sections if titles.get(name, ".") in asked}
        numbered = {name: (start, end) for name, start, end in sections if last and _number(name) == last}
        if own := named or (numbered if len(numbered) == 1 else {}):
            document = replace(document, parts=document.parts or tuple(own.values()))
            heading, sections, spans = next(iter(own)), _sections(document), _telling_sentences(document)
        first = _opening(document, spans)
        title = next(iter(own), document.own_title) or heading or (document.name if len(documents) > 1 else "")
        if not first:
            columns = outlines(document.text)
            quotes += [quote(document, *header) for header, _ in columns]
            parts += ["\n".join([title, *(line for _, line in columns)]).strip()] if columns else []
            continue
        shown = [title, f"“{_shown(document, first)}”"]
        quotes.append(quote(document, *first))
        sections = [section for section in sections if section[0] not in (title, heading)]
        if len(sections) > _SECTIONS:
            shown.append(f"Sections: {' · '.join(name for name, _, _ in sections[:_SECTIONS])} …")
        elif sections:
            pairs = [(name, _section_sentence(document, spans, start, end, first)) for name, start, end in sections]
            quotes += [quote(document, *span) for _, span in pairs if span]
            said = [(name, _MARKER.sub("", _shown(document, span)) if span else "") for name, span in pairs]
            shown.append("\n".join(f"- {name}: “{text}”" if text else f"- {name}" for name, text in said))
        if not 0 < len(sections) <= _SECTIONS:
            central = _central_sentences(document, spans, first)
            quotes += [quote(document, *span) for span in central]
            shown.append("\n".join(f"“{_shown(document, span)}”" for span in central))
        parts.append("\n\n".join(filter(None, shown)))
    if not parts:
        return Answer("The text holds no sentence.", "not_found", support=0.0)
    text, short = "\n\n".join(parts), on_one_line(quotes[0].text)
    return Answer(text, short=short, span=quotes[0].chars, quotes=tuple(quotes), support=1.0)


def _number(title: str) -> str:
    """Returns the section number with which a title begins, such as "3.2"; empty without one."""
    numbering = _NUMBERING.match(title)
    return numbering[0].strip(" .,:()§?") if numbering else ""


def _shown(document: Document, span: events.Chars) -> str:
    return on_one_line(document.text[slice(*span)])


def _sections(document: Document) -> list[tuple[str, int, int]]:
    """Returns each section once: its title and the characters ``[start, end)`` of its first occurrence."""
    found: dict[str, tuple[str, int, int]] = {}
    starts = [(mark.start, mark.section) for mark in document.marks if mark.section]
    for (start, name), (end, _) in pairwise([*starts, (len(document.text), "")]):
        found.setdefault(name, (name, start, end))
    read = document.parts or ((0, len(document.text)),)
    return [one for one in found.values() if any(first <= one[1] < last for first, last in read)]


def _section_sentence(
    document: Document, spans: list[events.Chars], start: int, end: int, opening: events.Chars
) -> events.Chars | None:
    """Returns the span of a section's first whole, short sentence below its heading, outside the opening; or None."""
    below = document.text.find("\n", start, end)
    if below >= 0 and (document.section(start) or "\n") in document.text[start:below]:
        start = below
    fits = (
        span for span in spans
        if start <= span[0] and span[1] <= end and not (opening[0] <= span[0] < opening[1])
        and _is_whole(document, span) and len(document.text[slice(*span)].split()) <= _WORDS[1]
    )  # fmt: skip
    return next(fits, None)


def _heading(document: Document, sections: Seq[tuple[str, int, int]], spans: list[events.Chars]) -> str:
    """Returns the first section's title if the text begins with "# " or that section has no sentences; else ""."""
    name, start, end = sections[0] if sections else ("", 0, len(document.text))
    is_title = document.text.lstrip().startswith("# ") or not any(start <= left < end for left, _ in spans)
    return name if is_title else ""


def _telling_sentences(document: Document) -> list[events.Chars]:
    """Returns the ranges of sentences, without headings, rows and very short sentences. Cuts long sentences."""
    text = document.text
    bare = set(bare_lines(document, Segment(0, 0, len(text), text, ())))
    found, parts = [], document.parts or ((0, len(text)),)
    for left, right in (piece for span in sentences(text) for piece in _pieces(text, span, bare)):
        is_read = any(first <= left and right <= last for first, last in parts)
        sentence = text[left:right]
        size = len(_WORDS_OF.findall(sentence)) + len(_UNSPACED.findall(sentence)) // 2
        if not is_read or size < (_FEWEST if _is_whole(document, (left, right)) else _WORDS[0]):
            continue
        if right - left > _LONGEST:
            right = max(left + 1, text.rfind(" ", left, left + _LONGEST))
        found.append((left, right))
    return found


def _pieces(text: str, span: events.Chars, bare: set[events.Chars]) -> Iterator[events.Chars]:
    """Yields the ranges of a sentence's parts. Headings, rows, blank lines and list marks separate the parts."""
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


def _opening(document: Document, spans: list[events.Chars]) -> events.Chars | None:
    """Returns the range of the first whole sentence and of up to two that follow directly; None without a sentence."""
    spans = [span for span in spans if span[0] < spans[0][0] + _BEGINNING]
    if not spans:
        return None
    first = last = next((n for n, span in enumerate(spans) if _is_whole(document, span)), 0)
    seen = {_shown(document, spans[first])}
    for (_, end), (start, stop) in pairwise(spans[first : first + _SENTENCES]):
        following = _shown(document, (start, stop))
        if document.text[end:start].strip() or following in seen:
            break
        seen.add(following)
        last += 1
    return spans[first][0], spans[last][1]


def _is_whole(document: Document, span: events.Chars) -> bool:
    return document.text[span[1] - 1] in ".!?。！？"


def _central_sentences(document: Document, spans: list[events.Chars], first: events.Chars) -> list[events.Chars]:
    """Returns, for each quarter of the sentences after the opening, the one with most of the text's common words."""
    opening = _shown(document, first)
    different = {_shown(document, span): span for span in reversed(spans) if span[0] >= first[1]}
    behind = sorted(span for shown, span in different.items() if shown not in opening and _is_whole(document, span))
    if len(behind) < _PARTS * _PARTS:
        return []
    texts = [words.without_endings(document.text[slice(*span)]) for span in behind]
    counts = Counter(word for text in texts for word in text if len(word) > 2)
    common = {word for word, _ in counts.most_common(_CENTRAL)}
    found, cuts = [], [round(part * len(behind) / _PARTS) for part in range(_PARTS + 1)]
    for start, end in pairwise(cuts):
        fitting = [n for n in range(start, end) if len(document.text[slice(*behind[n])].split()) <= _WORDS[1]]
        if fitting:
            best = max(fitting, key=lambda n: (sum(counts[word] for word in texts[n] & common), -n))
            found.append(behind[best])
    return found
