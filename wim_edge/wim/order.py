"""Where to begin: the segments that share most words with the question first, tables of contents last.

Where each segment is read alone the order is free, and this one costs nothing beside the reading. Segments that share
no word follow in the order of the document; of several documents their beginnings come first, in whichever order the
documents are given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from wim_edge import words
from wim_edge.errors import InvalidRequestError

_WORDS = 0.8
"""What a point of BM25 adds to a segment's logit; fitted together with the weights of scores (`ranking`)."""
_CONTENTS = -5.0
"""A table of contents has the question's words and answers nothing."""
_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5
"""Of a segment's lines: one with as many dot leaders names what stands elsewhere."""


@dataclass(frozen=True)
class Outlook:
    """What is known of segments before any is read. ``order``: their numbers, the most promising first; ``prior``:
    of each the logit of its answering the question."""

    order: tuple[int, ...]
    prior: tuple[float, ...]


def outlook(texts: Sequence[str], question: str, places: Sequence[int] | None = None) -> Outlook:
    """Returns which of the texts are worth reading for the question.

    ``places``: of each its number within its document; None: there is one document.
    """
    places = range(len(texts)) if places is None else places
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # without FTS5 they are read as they stand
        shared = words.scores(texts, question)
    contents = [_is_contents(text) for text in texts]
    prior = tuple(_WORDS * shared.get(n, 0.0) + _CONTENTS * contents[n] for n in range(len(texts)))
    order = sorted(range(len(texts)), key=lambda n: (contents[n], -prior[n], places[n], texts[n], n))
    return Outlook(tuple(order), prior)


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)
