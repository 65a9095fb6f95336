"""The place of the question in a request that contains a text: after it, before it, or in another message.

    what a prompt of a framework has in a tag, or behind a label where it ends with "Answer:"
    the last short paragraph (or line, or sentence) of the message
    the first short paragraph (or line)
    the system message, then what the user asked before the text

The first of these that is phrased as a question is taken. If several are, or none is, the choice is marked as unsure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from wim_edge.documents import sentences
from wim_edge.kinds import kind_of

SHORT = 600
"""The most characters of a question."""
_TYPED = 160
"""The most characters of a question that is typed without its mark."""
_QUESTION_WORD = re.compile(
    r"(?:(?:at|in|on|for|to|from|by|with) )?(?:who|whom|whose|what|when|where|which|why|how|wer|wem|wann|welche\w*"
    r"|warum|wie|wieviel|quand|où|d'où|quel\w*|pourquoi|combien|quién|cuándo|dónde|cuál|cuánto)\b\W+\w+\W+\w",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n\s*\n")
_LABEL = re.compile(r"\s*(?:question|query|q|task|frage|pregunta)\s*[:.]\s*", re.IGNORECASE)
_TAGGED = re.compile(r"<((?:user_)?(?:query|question))>\s*([^<\s][^<]{0,599}?)\s*</\1>", re.IGNORECASE)
_LABELLED = re.compile(r"^[ \t]*(?:user )?(?:question|query|frage|pregunta)[ \t]*:[ \t]*(\S.*?)[ \t]*$", re.I | re.M)
_TO_BE_ANSWERED = re.compile(r"\n[ \t]*(?:\w+ )?(?:answer|antwort|réponse|respuesta)[ \t]*:\s*\Z", re.IGNORECASE)
_REQUEST = re.compile(
    r"(?:please |kindly |bitte )?(?:summari[sz]e|list|name|enumerate|explain|describe|compare|count|extract|find|give"
    r"|tell|show|identify|state|outline|tl;?dr|(?:can|could|would) you|i (?:want|need|would like) to know|nenne|liste"
    r"|fasse|erkläre|beschreibe|résume\w*|énumère|explique\w*|resume\w*|enumera)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"(?:(?:and|but|so|then|now|at|in|on|for|to|from|by|with|under|according to [^,]*)[ ,]+)?"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|am|do|does|did|can|could|may|might|must|shall"
    r"|should|will|would|has|have|had|wer|wen|wem|was|wann|wo|welche\w*|warum|wie|ist|sind|hat|darf|kann|muss|qui|que"
    r"|quoi|quand|où|quel\w*|pourquoi|comment|combien|est-ce|quién\w*|qué|cuándo|dónde|cuál\w*|cómo|cuánt\w*)\b",
    re.IGNORECASE,
)
_ENDS = tuple('.!?:”"')
_END = re.compile(r"[?？؟]['\")\]”’»*_\s]*$")


@dataclass(frozen=True)
class FoundQuestion:
    """A question, and the text that it is asked of: what is left of the message."""

    question: str
    body: str = ""
    source: str = "the message"
    """Its place: the message's last or first paragraph, its end, the system message, an earlier message."""
    unsure: bool = False
    """True if nothing asks, or something else asks too."""


def asks(text: str) -> bool:
    """Tells whether a short text asks: clearly (`asks_clearly`), or by its first words, with no mark at its end."""
    plain = text.strip()
    typed = len(plain) <= _TYPED and "\n" not in plain and not plain.endswith((".", ":", "!", ";", ","))
    return asks_clearly(text) or (typed and bool(_QUESTION_WORD.match(plain)))


def asks_clearly(text: str) -> bool:
    """Tells whether a short text ends with a question mark, or begins as a request. It is not enough to begin as a
    question: so may a title ("How to begin")."""
    plain = text.strip().lstrip("¿¡*_#>\"'“« ")
    plain = _LABEL.sub("", plain, count=1)
    if not plain or len(plain) > SHORT:
        return False
    return bool(_END.search(plain)) or bool(_REQUEST.match(plain)) or kind_of(plain) == "summary"


def asking_part(text: str) -> str:
    """Returns the sentences of a short text that ask, without its instructions; empty where none does."""
    if len(text) > SHORT:
        return ""
    parts = [text[start:end].strip() for start, end in sentences(text)]
    return " ".join(part for part in parts if asks(part))


def find_question(text: str, others: Sequence[tuple[str, str]] = ()) -> FoundQuestion:
    """Returns the question of a message that brings a text. ``others``: the name and text of other places to look."""
    if (marked := _marked(text)) is not None:
        return marked
    elsewhere = [FoundQuestion(part, text.strip(), source) for source, other in others if (part := asking_part(other))]
    within = [found for found in (_last(text), _first(text)) if found is not None and asks(found.question)]
    if not within and len(_paragraphs(text)) < 2 and asks(text):
        return FoundQuestion(_plain(text))
    found = [*within, *elsewhere]
    if found:
        unsure = len({one.question for one in found}) > 1
        first = found[0]
        return FoundQuestion(_plain(first.question), first.body, first.source, unsure)
    body, question = split_question(text)
    return FoundQuestion(question, body, "the message's end or head", unsure=bool(body))


def split_question(text: str) -> tuple[str, str]:
    """Returns a long message as (document, question), whether or not anything in it asks."""
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
    """Returns the question that a framework's prompt marks near its end or its head; None: it marks none."""
    tail = max(0, len(text) - 2 * SHORT)
    if (end := _TO_BE_ANSWERED.search(text, tail)) is None:  # a tag further up may be of the text
        marked = [one for one in _TAGGED.finditer(text, tail) if not text[one.end() :].strip()]
    else:
        places = ((0, min(2 * SHORT, end.start())), (tail, end.start()))
        marked = [one for place in places for mark in (_TAGGED, _LABELLED) for one in mark.finditer(text, *place)]
    if not marked:
        return None
    found = max(marked, key=lambda one: one.start())
    body = text[: found.start()] + text[found.end() : end.start() if end else None]
    return FoundQuestion(found[found.re.groups], body.strip(), "its label")


def _last(text: str) -> FoundQuestion | None:
    """Returns the question at the end of a text: its last line, last short paragraph or last sentence; None: none."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[-1]
    line, sentence = text.rfind("\n", start, end) + 1, _last_sentence(text, end)
    if line and text[start:line].rstrip().endswith(_ENDS) and _is_question(text[line:end]):
        return FoundQuestion(text[line:end].strip(), text[:line].strip(), "the last line")
    if len(paragraphs) > 1 and end - start <= SHORT and asks(text[start:end]):
        return FoundQuestion(text[start:end].strip(), text[:start].strip(), "the last paragraph")
    if sentence and _is_question(text[sentence:end]):
        return FoundQuestion(text[sentence:end].strip(), text[:sentence].strip(), "the last sentence")
    return None


def _first(text: str) -> FoundQuestion | None:
    """Returns the question at the head of a text: its first short paragraph or its first line; None: none."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[0]
    if len(paragraphs) > 1 and end - start <= SHORT and asks_clearly(text[start:end]):
        return FoundQuestion(text[start:end].strip(), text[end:].strip(), "the first paragraph")
    line = text.find("\n", start, end)
    if line > 0 and _is_question(text[start:line]):
        return FoundQuestion(text[start:line].strip(), text[line:].strip(), "the first line")
    return None


def _is_question(text: str) -> bool:
    """Returns whether a line or sentence is a question by its beginning and its end: prose has question marks too."""
    plain = text.strip().lstrip("¿¡*_#>\"'“« ")
    labelled = _LABEL.match(plain)
    plain = plain[labelled.end() :] if labelled else plain
    return 0 < len(plain) <= SHORT and bool(_END.search(plain)) and bool(labelled or _WORDS.match(plain))


def _plain(question: str) -> str:
    return _LABEL.sub("", question, count=1).strip() if _LABEL.match(question) else question.strip()


def _last_sentence(text: str, end: int) -> int | None:
    """Returns the place where the last sentence begins, if it is short enough."""
    tail = max(0, end - 2 * SHORT)
    start = max((tail + at for at, _ in sentences(text[tail:end])), default=0)
    return None if start == tail or end - start > SHORT else start


def _paragraphs(text: str) -> list[tuple[int, int]]:
    cuts = [(0, 0), *(found.span() for found in _PARAGRAPH.finditer(text)), (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(cuts) if text[before[1] : after[0]].strip()]
