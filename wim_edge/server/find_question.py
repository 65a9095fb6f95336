"""The place of the question in a request that contains a text: after it, before it, or in another message.

It is found by structure, not by words of a language: question marks, blank lines, labels, tags and order.

    a framework's mark: the last tag, or a label, if the prompt ends with a bare label ("Answer:")
    the last short paragraph (or line, or sentence) of the message
    the first short paragraph (or line)
    the system message, then what the user asked before the text

The first of these that ends with a question mark wins; if none does, the last short paragraph, or the first one, or the
end. If several do, or none, the choice is marked as unsure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wim_edge.documents import sentences

SHORT = 600
"""The most characters of a question."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_LABELLED = re.compile(r"^[ \t]*[^\n:.?!<>]{1,30}:[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
_OPEN_LABEL = re.compile(r"\n[ \t]*[^\n:.?!]{1,30}:\s*\Z")
_TAGGED = re.compile(r"<([\w-]+)>\s*([^<\s][^<]{0,599}?)\s*</\1>\s*\Z")
_LABEL = re.compile(r"[^\W\d_]{1,12}:\s+(?=\S)")
_ENDS = tuple('.!?:”"')
_ASKS = re.compile(r"[?？؟՞]['\")\]”’»*_\s]*$")


@dataclass(frozen=True)
class FoundQuestion:
    """A question, and the rest of the message, which it is asked of."""

    question: str
    body: str = ""
    source: str = "the message"
    """Its place: the message's last or first paragraph, its end, the system message, an earlier message."""
    unsure: bool = False
    """True if nothing ends with a question mark, or several texts do."""


def asks(text: str) -> bool:
    """Tells whether a short text ends with a question mark."""
    return 0 < len(text.strip()) <= SHORT and _ASKS.search(text) is not None


def asking_part(text: str) -> str:
    """Returns the sentences of a short text that ask, without its instructions; empty if none does."""
    if len(text) > SHORT:
        return ""
    parts = [text[start:end].strip() for start, end in sentences(text)]
    return " ".join(part for part in parts if asks(part))


def find_question(text: str, others: Sequence[tuple[str, str]] = ()) -> FoundQuestion:
    """Returns the question of a message that contains a text. ``others``: names and texts of other places to look."""
    if (marked := _marked(text)) is not None:
        return marked
    if len(_paragraphs(text)) < 2 and asks(text):
        return FoundQuestion(_plain(text))
    elsewhere = [FoundQuestion(part, text.strip(), source) for source, other in others if (part := asking_part(other))]
    last, first = next(_last(text), None), next(_first(text), None)
    found = [one for one in (last, first, *elsewhere) if one is not None]
    if not found:
        body, question = split_question(text)
        return FoundQuestion(_plain(question), body, "the message's end or head", unsure=bool(body))
    taken, unsure = found[0], len({one.question for one in found}) > 1
    return FoundQuestion(_plain(taken.question), taken.body, taken.source, unsure)


def split_question(text: str) -> tuple[str, str]:
    """Splits a long message into (document, question): a short last or first paragraph is the question."""
    paragraphs = _paragraphs(text)
    (first, first_end), (last, last_end) = paragraphs[0], paragraphs[-1]
    if len(paragraphs) > 1 and last_end - last <= SHORT:
        return text[:last].strip(), text[last:last_end].strip()
    if len(paragraphs) > 1 and first_end - first <= SHORT:
        return text[first_end:].strip(), text[first:first_end].strip()
    end = len(text.rstrip())
    start = _last_sentence(text, end)
    if start is None:
        start = max(text.rfind(" ", 0, end - SHORT) + 1, end - SHORT)
    return text[:start].strip(), text[start:end].strip()


def _marked(text: str) -> FoundQuestion | None:
    """Returns the question that a framework's prompt marks, else None: in a tag at its end or, if it ends with a bare
    label, after the label of the last line before that, or of an asking line near its head."""
    tail = max(0, len(text) - 2 * SHORT)
    if tagged := _TAGGED.search(text, tail):
        return FoundQuestion(tagged[2], text[: tagged.start()].strip(), "its label")
    end = _OPEN_LABEL.search(text, tail)
    if end is None:
        return None
    line = text.rfind("\n", 0, len(text[: end.start()].rstrip())) + 1
    found = _LABELLED.match(text, line, end.start()) or next(
        (one for one in _LABELLED.finditer(text, 0, min(2 * SHORT, end.start())) if asks(one[1])), None
    )
    if found is None:
        return None
    return FoundQuestion(found[1], (text[: found.start()] + text[found.end() : end.start()]).strip(), "its label")


def _last(text: str) -> Iterator[FoundQuestion]:
    """Yields the questions at the end of a text: its last line, its last short paragraph, its last sentence."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[-1]
    line = text.rfind("\n", start, end) + 1
    if line and text[start:line].rstrip().endswith(_ENDS) and asks(text[line:end]):
        yield FoundQuestion(text[line:end].strip(), text[:line].strip(), "the last line")
    if len(paragraphs) > 1 and asks(text[start:end]):
        yield FoundQuestion(text[start:end].strip(), text[:start].strip(), "the last paragraph")
    sentence = _last_sentence(text, end)
    if sentence and asks(text[sentence:end]):
        yield FoundQuestion(text[sentence:end].strip(), text[:sentence].strip(), "the last sentence")


def _first(text: str) -> Iterator[FoundQuestion]:
    """Yields the questions at the head of a text: its first short paragraph, its first line."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[0]
    line = text.find("\n", start, end)
    if len(paragraphs) > 1 and asks(text[start:end]):
        yield FoundQuestion(text[start:end].strip(), text[end:].strip(), "the first paragraph")
    elif line > 0 and asks(text[start:line]):
        yield FoundQuestion(text[start:line].strip(), text[line:].strip(), "the first line")


def _plain(question: str) -> str:
    """Returns a question without a label of one word ("Question: ...")."""
    return _LABEL.sub("", question.strip(), count=1)


def _last_sentence(text: str, end: int) -> int | None:
    """Returns the start of the last sentence, if it is short enough."""
    tail = max(0, end - 2 * SHORT)
    start = max((tail + at for at, _ in sentences(text[tail:end])), default=0)
    return None if start == tail or end - start > SHORT else start


def _paragraphs(text: str) -> list[tuple[int, int]]:
    cuts = [(0, 0), *(found.span() for found in _PARAGRAPH.finditer(text)), (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(cuts) if text[before[1] : after[0]].strip()]
