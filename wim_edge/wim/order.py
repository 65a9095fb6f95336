"""Where to begin: what is known of segments before any is read, and in which order they are worth reading.

Where each segment is read alone the order is free. The words that a segment shares with the question cost nothing
beside the reading; an embedding model, where there is one, a third of it. Lists of references and links come later than
their words alone would have it, tables of contents last. Where nothing tells two segments apart they follow in the
order of the document; of several documents their beginnings come first, in whichever order the documents are given.
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
    """What evidence adds to the logit of a segment's answering the question."""

    words: float
    """A point of BM25."""
    similarity: float
    """A standard deviation of the similarities."""
    nats: float
    """A nat of its score, once it is read."""
    known: float
    """Being read, whatever comes of it: a score or the adapter's word."""
    answers: float = 0.0
    """A nat of the log-odds with which an adapter says that it answers, once it is read."""


# Fitted by the cross entropy of the gold segment after 1 to 32 scores, on the choosing parts (docs/resolved.md)
BY_WORDS = Weights(0.7, 0.0, 0.12, -1.2)
BY_SIMILARITY = Weights(0.15, 1.8, 0.125, -1.5)
BY_ADAPTER = Weights(0.55, 0.0, 0.02, 0.5, 0.7)
BY_BOTH = Weights(0.15, 1.8, 0.02, 0.5, 0.7)
_CONTENTS = -5.0
"""A table of contents has the question's words and answers nothing."""
_REFERENCES = -2.0
"""A list of references or links names what the question asks about, and seldom says it (docs/resolved.md)."""
_NAMED = 4.0
"""What a question names by row and column is looked up where it stands."""
_LISTS = re.compile(
    r"(?:[\d.]+\s+)?(?:(?:notes and )?references|bibliography|further reading|works cited|external links"
    r"|einzelnachweise|literatur(?:verzeichnis)?|weblinks|referencias|bibliografía|enlaces externos"
    r"|(?:notes et )?références|bibliographie|liens externes)\s*(?:[(\[].*)?", re.IGNORECASE,
)  # fmt: skip
_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5
"""Of a segment's lines: one with as many dot leaders names what stands elsewhere."""


@dataclass(frozen=True)
class Outlook:
    """What is known of segments before they are read, by their numbers."""

    shared: tuple[float, ...]
    """The BM25 of the question's words."""
    contents: tuple[bool, ...]
    """Whether it is a table of contents."""
    ties: tuple[int, ...]
    """The segments in the order in which those follow that nothing tells apart."""
    references: tuple[bool, ...]
    """Whether it stands in a list of references or links."""
    named: frozenset[int] = frozenset()
    """Those that hold the cell of a table which the question names by its row and its column."""
    adapted: bool = False
    """Whether an adapter will say of each that is read whether it answers."""
    similarities: Mapping[int, float] = field(default_factory=dict)
    """The cosine similarity to the question of those that were embedded."""

    @property
    def weights(self) -> Weights:
        if self.adapted:
            return BY_BOTH if self.similarities else BY_ADAPTER
        return BY_SIMILARITY if self.similarities else BY_WORDS

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """Each segment's logit of answering the question. One that was not embedded counts as the mean of those."""
        near = np.zeros(len(self.shared))
        if self.similarities:
            found = np.array(list(self.similarities.values()))
            near[list(self.similarities)] = (found - found.mean()) / max(float(found.std()), 1e-6)
        logits = self.weights.words * np.array(self.shared) + self.weights.similarity * near
        logits += _CONTENTS * np.array(self.contents) + _REFERENCES * np.array(self.references)
        logits[list(self.named)] += _NAMED
        return tuple(logits.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The segments, the most promising first."""
        return tuple(sorted(self.ties, key=lambda n: (self.contents[n], -self.prior[n])))

    def nearer(self, similarities: Mapping[int, float]) -> Outlook:
        """Returns this one with the similarities of more segments."""
        return replace(self, similarities={**self.similarities, **similarities})


def outlook(
    texts: Sequence[str],
    question: str,
    places: Sequence[int] | None = None,
    sections: Sequence[str | None] | None = None,
) -> Outlook:
    """Returns which of the texts are worth reading for the question, by their words.

    ``places``: of each its number within its document; None: there is one document. ``sections``: of each the title of
    its section, if it has one; None: none has.
    """
    sections = [None] * len(texts) if sections is None else sections
    places = range(len(texts)) if places is None else places
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # without FTS5 they are read as they stand
        shared = words.scores(texts, question)
    ties = sorted(range(len(texts)), key=lambda n: (places[n], texts[n], n))
    return Outlook(
        tuple(shared.get(n, 0.0) for n in range(len(texts))),
        tuple(map(_is_contents, texts)),
        tuple(ties),
        tuple(section is not None and _LISTS.fullmatch(section.strip()) is not None for section in sections),
    )


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)
