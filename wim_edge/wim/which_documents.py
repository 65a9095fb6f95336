"""The documents that mention something, for questions that ask which ones do: found by the question's words."""

from __future__ import annotations

import re
from collections.abc import Sequence as Seq

from wim_edge import words
from wim_edge.documents import Document, sentences
from wim_edge.documents.tables import line_spans
from wim_edge.wim import events
from wim_edge.wim.answer_parts import Answer
from wim_edge.wim.plan import source_label
from wim_edge.wim.quotation import on_one_line

_NOUN = (
    r"(?:documents?|files?|pdfs?|e-?mails?|mails?|letters?|texts?|papers?|notes?|reports?|dokumente?n?|dateie?n?"
    r"|briefe?n?|documentos?|archivos?|fichiers?)"
)
_SAYS = (
    r"mentions?|mentioned|says?|said|talks?|speaks?|discuss(?:es|ed)?|describes?|described|contains?|covers?"
    r"|refers?|deals?|explains?|(?:is|are) about|erwähn\w*|handel\w*|steht|enthält|enthalten|habla\w*|menciona\w*"
    r"|contien\w*|parlent|parle|mentionnent|mentionne"
)
_ASKS = re.compile(
    rf"\W*(?:in )?(?:which|what|welche\w*|in welche\w*|qué|quels?|dans quels?)"
    rf"(?: (?:one|ones))?(?: (?:of|von|de|des) (?:\w+ )?)? ?{_NOUN}\b.{{0,40}}?\b(?:{_SAYS})\b",
    re.IGNORECASE,
)
_TELLS_NOTHING = words.without_endings(
    "document file pdf e mail letter text paper note report mention mentioned say said talk speak discusses discussed "
    "describe described contain cover refer deal explain about anything something one of these those my our your me "
    "tell any welchem welchen welcher welche dokument dokumente datei dateien brief briefe erwähnt erwähnen wird "
    "werden handelt handeln steht stehen enthält enthalten von der die das den dem über documento archivo fichier "
    "menciona mencionan contiene contienen parle parlent mentionne mentionnent del el la los las le les du se "
    "qué quel habla hablan"
)
_MOST_SHOWN, _LONGEST = 20, 300
"""The documents that are listed, and the characters of a sentence that are shown of each, at most."""


def asks_which_document(question: str) -> bool:
    """Tells whether a question asks in which documents something is said ("Which of my files mention the boiler?")."""
    return _ASKS.match(question) is not None


def documents_that_say(documents: Seq[Document], question: str) -> Answer | None:
    """Returns the documents that have all words of what is asked for, each with a sentence that has most of them; where
    none has all, those with most, as a guess. None if that is not asked, or none has half of the words."""
    if len(documents) < 2 or not asks_which_document(question):
        return None
    asked = words.without_endings(question) - _TELLS_NOTHING
    told = [(_words_in(document, asked), document) for document in documents]
    most = max(n for (n, _), _ in told)
    if not asked or not most or 2 * most < len(asked):
        return None
    found = [(document, span) for (n, span), document in told if n == most][:_MOST_SHOWN]
    quotes, lines = [], []
    for document, span in found:
        place = document.place(*span)
        text = document.text[slice(*span)]
        quotes.append(events.Quote(text, document.name, place.page, place.section, span, line=place.line))
        shown = _cut(on_one_line(text), asked)
        lines.append(f"- {source_label(document, *span, True, lines=True)}: “{shown}”")
    is_sure = most == len(asked)
    head = f"{'' if is_sure else 'Perhaps: '}{len(found)} found:"
    return Answer(
        "\n".join([head, *lines]), "answered" if is_sure else "unsure", "; ".join(one.name for one, _ in found),
        quotes=tuple(quotes), support=1.0 if is_sure else 0.5,
    )  # fmt: skip


def _cut(text: str, asked: set[str]) -> str:
    """Returns a text, or as much of a long one as is shown, with the first of the words."""
    if len(text) <= _LONGEST:
        return text
    at = next((word.start() for word in re.finditer(r"\w+", text) if asked & words.without_endings(word[0])), 0)
    begin = text.rfind(" ", 0, at - _LONGEST // 2) + 1 if at > _LONGEST // 2 else 0
    return f"{'… ' if begin else ''}{text[begin : begin + _LONGEST].rpartition(' ')[0]} …"


def _words_in(document: Document, asked: set[str]) -> tuple[int, events.Chars]:
    """Returns how many of the words a document has in what is read of it, and the sentence, or the line of a long one,
    that has most of them."""
    best, most, there = (0, 0), 0, set[str]()
    for first, last in document.parts or ((0, len(document.text)),):
        for start, end in sentences(document.text[first:last]):
            text = document.text[first + start : first + end]
            for left, right in line_spans(text) if len(text) > _LONGEST else ((0, len(text)),):
                here = asked & words.without_endings(text[left:right])
                there |= here
                if len(here) > most:
                    best, most = (first + start + left, first + start + right), len(here)
    return len(there), best
