"""The order of reading, and the outlook behind it: the facts that are known of segments before any is read.

If each segment is read alone, the order is free. The words that a segment shares with the question cost nothing beside
the reading; an embedding model, if there is one, a seventh of it. Tables of contents come
last. Segments that nothing tells apart follow in the order of the document; of several documents the beginnings come
first, in whatever order the documents are given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from wim_edge import words
from wim_edge.errors import InvalidRequestError


@dataclass(frozen=True)
class Weights:
    """The weights of evidence in the logit of a segment's answering the question."""

    words: float
    """The weight of a point of BM25."""
    similarity: float
    """The weight of a standard deviation of the similarities."""
    nats: float
    """The weight of a nat of its score, once it is read."""
    known: float
    """The weight of being read, whatever comes of it: a score or the adapter's word."""
    answers: float = 0.0
    """The weight of a nat of the adapter's log-odds that it answers, once it is read."""


# Fitted by the cross entropy of the gold segment after 1 to 32 scores, on the choosing parts (docs/choices.md)
BY_WORDS = Weights(0.7, 0.0, 0.12, -1.2)
BY_SIMILARITY = Weights(0.5, 1.2, 0.125, -1.5)
BY_ADAPTER = Weights(0.55, 0.0, 0.02, 0.5, 0.7)
BY_BOTH = Weights(0.5, 1.2, 0.02, 0.5, 0.7)
_CONTENTS = -5.0
"""The logit of a table of contents, which has the question's words and answers nothing."""
_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5
"""The share of lines with dot leaders from which on a segment counts as a table of contents."""


@dataclass(frozen=True)
class Outlook:
    """The outlook: the facts that are known of segments before they are read, by their numbers."""

    shared: tuple[float, ...]
    """The BM25 scores for the question's words."""
    contents: tuple[bool, ...]
    """True for a table of contents."""
    ties: tuple[int, ...]
    """All segments, in the order that decides between those that nothing else tells apart."""
    adapted: bool = False
    """True if an adapter will say of each segment that is read whether it answers."""
    similarities: Mapping[int, float] = field(default_factory=dict)
    """The cosine similarities to the question of the segments that were embedded."""

    @property
    def weights(self) -> Weights:
        if self.adapted:
            return BY_BOTH if self.similarities else BY_ADAPTER
        return BY_SIMILARITY if self.similarities else BY_WORDS

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """The logits of answering the question; a segment that was not embedded counts as the mean of the others."""
        near = np.zeros(len(self.shared))
        if self.similarities:
            found = np.array(list(self.similarities.values()))
            near[list(self.similarities)] = (found - found.mean()) / max(float(found.std()), 1e-6)
        logits = self.weights.words * np.array(self.shared) + self.weights.similarity * near
        logits += _CONTENTS * np.array(self.contents)
        return tuple(logits.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The segments, the most promising first."""
        return tuple(sorted(self.ties, key=lambda n: (self.contents[n], -self.prior[n])))

    def nearer(self, similarities: Mapping[int, float]) -> Outlook:
        """Returns this outlook with the similarities of more segments."""
        return replace(self, similarities={**self.similarities, **similarities})


def outlook(texts: Sequence[str], question: str, places: Sequence[int] | None = None) -> Outlook:
    """Returns the outlook on the texts for the question, by their words.

    ``places``: the number of each text within its document; None: there is one document.
    """
    places = range(len(texts)) if places is None else places
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # without FTS5 they are read as they stand
        shared = words.scores(texts, question)
    ties = sorted(range(len(texts)), key=lambda n: (places[n], texts[n], n))
    return Outlook(
        tuple(shared.get(n, 0.0) for n in range(len(texts))), tuple(map(_is_contents, texts)), tuple(ties)
    )


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)
