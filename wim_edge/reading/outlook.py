"""The outlook: a prior for each segment before it is read, which gives the order of reading.

The order is free if each segment is read alone. Words in common cost almost nothing, embeddings a seventh of the
reading. Tables of contents come last. Ties keep the document's order; of several documents, beginnings come first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from wim_edge import words
from wim_edge.errors import InvalidRequestError


@dataclass(frozen=True)
class Weights:
    """The weights in the logit that a segment answers: of a point of BM25, a standard deviation of the similarities, a
    nat of its score, being read at all (``known``), and a nat of an adapter's log-odds."""

    words: float
    similarity: float
    nats: float
    known: float
    answers: float = 0.0


# Fitted to the cross entropy of the gold segment after 1 to 32 scores, on the choosing parts (docs/choices.md)
BY_WORDS = Weights(0.7, 0.0, 0.12, -1.2)
BY_SIMILARITY = Weights(0.5, 1.2, 0.125, -1.5)
BY_ADAPTER = Weights(0.55, 0.0, 0.02, 0.5, 0.7)
BY_BOTH = Weights(0.5, 1.2, 0.02, 0.5, 0.7)
_CONTENTS = -5.0  # logit of a table of contents: it has the question's words, but no answer
_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5  # of the lines in a table of contents have dot leaders


@dataclass(frozen=True)
class Outlook:
    """The facts about segments before they are read, by segment number."""

    shared: tuple[float, ...]
    """BM25 scores."""
    contents: tuple[bool, ...]
    """True for a table of contents."""
    ties: tuple[int, ...]
    """All segments in the order that breaks ties."""
    adapted: bool = False
    """True if an adapter gives log-odds for each segment that is read."""
    similarities: Mapping[int, float] = field(default_factory=dict)
    """Cosine similarities to the question of embedded segments."""

    @property
    def weights(self) -> Weights:
        if self.adapted:
            return BY_BOTH if self.similarities else BY_ADAPTER
        return BY_SIMILARITY if self.similarities else BY_WORDS

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """The logits that segments answer; a segment without an embedding gets the mean similarity."""
        near = np.zeros(len(self.shared))
        if self.similarities:
            found = np.array(list(self.similarities.values()))
            near[list(self.similarities)] = (found - found.mean()) / max(float(found.std()), 1e-6)
        logits = self.weights.words * np.array(self.shared) + self.weights.similarity * near
        logits += _CONTENTS * np.array(self.contents)
        return tuple(logits.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The segments, most promising first."""
        return tuple(sorted(self.ties, key=lambda n: (self.contents[n], -self.prior[n])))

    def nearer(self, similarities: Mapping[int, float]) -> Outlook:
        """Returns the outlook with the similarities of more segments."""
        return replace(self, similarities={**self.similarities, **similarities})


def outlook(texts: Sequence[str], question: str, documents: Sequence[int]) -> Outlook:
    """Returns the outlook on the texts by the question's words. ``documents``: the document number of each text."""
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # SQLite without FTS5: the document's order
        shared = words.scores(texts, question)
    counts = Counter[int]()
    places = []
    for document in documents:
        places.append(counts[document])
        counts[document] += 1
    ties = sorted(range(len(texts)), key=lambda n: (places[n], texts[n], n))
    return Outlook(
        tuple(shared.get(n, 0.0) for n in range(len(texts))), tuple(map(_is_contents, texts)), tuple(ties)
    )


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)
