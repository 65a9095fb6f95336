"""The ranking of segments: P(segment answers | question), the softmax of one logit per segment (Bayes' rule). The
outlook is a prior for each segment before it is read, and gives the order of shallow reading. Counting words in common
costs almost nothing. Embedding takes a seventh of the reading's time, so only the most promising segments are embedded,
and their vectors (0.1 s each) are saved with the reading. Tables of contents come last. Ties keep the document's order;
with several documents, all beginnings come first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np

from wim_edge import words
from wim_edge.engine.protocols import Embedder, Vector
from wim_edge.errors import InvalidRequestError
from wim_edge.library import SavedReading

_PROBABLE, _NEAR, _NEAR_ALONE = 0.5, 0.1, 0.03  # the default thresholds of `Ranking.chosen`
AT_ONCE = 96
"""The most segments that are embedded in one go, before the reading continues."""
AFTER = 2
"""The number of segments to read before any segment is embedded: often these suffice."""
_LAST_LATIN = "\u0250"
_STEP = 8  # segments between two progress reports
_NEVER = -1e9  # the logit of a segment that the user rejected


@dataclass
class Ranking:
    """The scores of the segments, and the relevances that are computed from the scores. Without an ``outlook``, a
    segment's logit is its score, or 0 (that of an empty text) if it has none. ``independent``: True if each score is
    the log-odds of its segment alone; then there is no outlook."""

    n_segments: int
    independent: bool = False
    scores: dict[int, float] = field(default_factory=dict)
    """Raw scores by segment. If an adapter gives ``answers``, only segments that ranked high when read have a score."""
    verdicts: Mapping[int, bool] = field(default_factory=dict)
    """The user's verdicts: an accepted segment always matters, a rejected one never."""
    answers: dict[int, float] = field(default_factory=dict)
    """An adapter's log-odds that a segment answers, by segment; used only with an outlook."""
    outlook: Outlook | None = None
    """The prior for each segment; None: all segments have the same prior."""
    documents: tuple[int, ...] = ()
    """The document number of each segment, if each document may have its own answer. Empty: all count as one text."""

    @property
    def known(self) -> list[int]:
        """The segments with a score or an adapter's log-odds."""
        return list(self.scores) if self.outlook is None else list(dict.fromkeys([*self.answers, *self.scores]))

    def relevance(self, index: int) -> float:
        """Returns the relevance of a segment, 0 to 1, given all scores so far; 0 if the segment is not `known`."""
        if index not in self.known:
            return 0.0
        if self.independent:
            return float(1 / (1 + np.exp(-self.scores[index])))
        logits = self._logits()
        return float(1 / np.exp(logits - logits[index]).sum())

    def unread(self) -> float | None:
        """Returns P(an unread segment answers better than all `known` ones). With several ``documents``: the highest of
        these probabilities, each within one document. None without an outlook."""
        return None if self.outlook is None else max(self.unread_in().values(), default=0.0)

    def unread_in(self) -> dict[int, float]:
        """Returns {document number: P(an unread segment of the document answers better than its `known` ones)}."""
        logits, left = self._logits(), np.ones(self.n_segments, dtype=bool)
        left[self.known] = False
        logits[[index for index in self.known if self.verdicts.get(index) is False]] = _NEVER
        documents, found = np.array(self.documents or (0,) * self.n_segments), {}
        for document in set(documents.tolist()):
            own = documents == document
            shares = np.exp(logits[own] - logits[own].max())
            found[document] = float(shares[left[own]].sum() / shares.sum())
        return found

    def order(self) -> list[int]:
        """Returns the known segments, most relevant first."""
        logits = None if self.outlook is None else self._logits()
        by = self.scores if logits is None else {index: float(logits[index]) for index in self.known}
        return sorted(by, key=lambda index: (-by[index], index))

    def without_verdict(self) -> list[int]:
        """Returns the known segments on which the user gave no verdict, most relevant first."""
        return [index for index in self.order() if index not in self.verdicts]

    def chosen(self, at_most: int, threshold: float | None = None) -> list[int]:
        """Returns all segments that the user accepted, then the others that matter, up to ``at_most`` in total. If
        scores are independent, a segment matters if its relevance reaches the threshold (default 0.5). Else its score
        or its adapter's log-odds must be above 0, and its relevance at least the threshold (default 0.1, or 0.03 with
        an outlook) times the best one's. The best one of each of ``documents`` comes first in any case."""
        accepted = [index for index in self.order() if self.verdicts.get(index)]
        order = self.without_verdict()
        first = {self.documents[index]: index for index in reversed(order)}.values() if self.documents else ()
        best = [*first, *(index for index in order if index not in first)][: max(0, at_most - len(accepted))]
        best.sort(key=order.index)
        if self.independent:
            least = _PROBABLE if threshold is None else threshold
        else:
            near = _NEAR if self.outlook is None else _NEAR_ALONE
            best = [index for index in best if max(self.scores.get(index, 0.0), self.answers.get(index, 0.0)) > 0]
            least = (near if threshold is None else threshold) * self.relevance(best[0]) if best else 0.0
        return [*accepted, *(index for index in best if index in first or self.relevance(index) >= least)]

    def is_first(self, index: int, n: int) -> bool:
        """Returns whether segment ``index`` is among the ``n`` best by prior and adapter. True without an outlook."""
        if self.outlook is None:
            return True
        weight, prior = self.outlook.weights.answers, self.outlook.prior
        logits = {one: prior[one] + weight * odds for one, odds in self.answers.items()}
        return sum(logit >= logits[index] for one, logit in logits.items() if one != index) < n

    def _logits(self) -> np.ndarray:
        """Returns the logit of each segment, as an array of shape [n_segments]."""
        indices, scores = list(self.scores), np.array(list(self.scores.values()))
        if self.outlook is None:
            logits = np.zeros(self.n_segments)
            logits[indices] = scores
            return logits
        weights, logits = self.outlook.weights, np.array(self.outlook.prior)
        logits[self.known] += weights.known
        logits[indices] += weights.nats * scores
        logits[list(self.answers)] += weights.answers * np.array(list(self.answers.values()))
        return logits


@dataclass(frozen=True)
class Weights:
    """The weights of the terms in a segment's logit."""

    words: float  # for each point of BM25
    similarity: float  # for each standard deviation of the scout's similarities
    nats: float  # for each nat of the segment's score
    known: float  # added once the segment is read
    answers: float = 0.0  # for each nat of the adapter's log-odds


# Fitted on the choosing parts: least cross entropy of the gold segment after 1 to 32 scores (docs/choices.md)
BY_WORDS = Weights(0.7, 0.0, 0.12, -1.2)
BY_SIMILARITY = Weights(0.5, 1.2, 0.125, -1.5)
BY_ADAPTER = Weights(0.55, 0.0, 0.02, 0.5, 0.7)
BY_BOTH = Weights(0.5, 1.2, 0.02, 0.5, 0.7)
_CONTENTS = -5.0  # added to the logit of a table of contents: it has the question's words, but no answer
_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5  # the least share of lines with dot leaders in a table of contents


@dataclass(frozen=True)
class Outlook:
    """The prior evidence on all segments, before they are read."""

    shared: tuple[float, ...]
    """The BM25 score of each segment for the question."""
    contents: tuple[bool, ...]
    """True for each segment that is a table of contents."""
    ties: tuple[int, ...]
    """The numbers of all segments, in the order that breaks ties."""
    adapted: bool = False
    """True if an adapter gives log-odds for each segment that is read."""
    similarities: Mapping[int, float] = field(default_factory=dict)
    """The cosine similarity to the question, by segment number; only of embedded segments."""

    @property
    def weights(self) -> Weights:
        if self.adapted:
            return BY_BOTH if self.similarities else BY_ADAPTER
        return BY_SIMILARITY if self.similarities else BY_WORDS

    @cached_property
    def prior(self) -> tuple[float, ...]:
        """The logit of each segment before it is read. A segment without an embedding gets the mean similarity."""
        near = np.zeros(len(self.shared))
        if self.similarities:
            found = np.array(list(self.similarities.values()))
            near[list(self.similarities)] = (found - found.mean()) / max(float(found.std()), 1e-6)
        logits = self.weights.words * np.array(self.shared) + self.weights.similarity * near
        logits += _CONTENTS * np.array(self.contents)
        return tuple(logits.tolist())

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of the segments, most promising first."""
        return tuple(sorted(self.ties, key=lambda n: (self.contents[n], -self.prior[n])))

    def nearer(self, similarities: Mapping[int, float]) -> Outlook:
        """Returns a copy with the similarities of more segments."""
        return replace(self, similarities={**self.similarities, **similarities})


def outlook(texts: Sequence[str], question: str, documents: Sequence[int]) -> Outlook:
    """Returns the prior from the words that texts and question share. ``documents``: each text's document number."""
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # without FTS5 in SQLite, the document's order stays
        shared = words.scores(texts, question)
    counts = Counter[int]()
    places = []
    for document in documents:
        places.append(counts[document])
        counts[document] += 1
    ties = sorted(range(len(texts)), key=lambda n: (places[n], texts[n], n))
    return Outlook(tuple(shared.get(n, 0.0) for n in range(len(texts))), tuple(map(_is_contents, texts)), tuple(ties))


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)


class Similarity:
    """The cosine similarities of segments to a question. Iterate `measure`; then ``found`` has them by segment number.
    ``saved``: the saved reading that keeps the vectors; None: nothing is saved."""

    def __init__(self, embedder: Embedder, query: str, saved: SavedReading | None) -> None:
        self._embedder, self._query, self._saved = embedder, query, saved
        self._question: Vector | None = None
        self.found: dict[int, float] = {}
        self.known: set[int] = set()
        """The numbers of the segments that are embedded."""

    def is_due(self, number: int, n_read: int) -> bool:
        """Returns whether to embed more segments before segment ``number`` is read. ``n_read``: how many were read."""
        return number not in self.known and (n_read >= AFTER or not self._query)

    def unknown(self, order: Sequence[int]) -> list[int]:
        """Returns the first `AT_ONCE` segments of ``order`` that are not embedded; without a question, all of them."""
        unknown = [number for number in order if number not in self.known]
        return unknown[:AT_ONCE] if self._query else unknown

    def measure(self, texts: Mapping[int, str], check: Callable[[], None]) -> Iterator[int]:
        """Embeds the question and ``texts``, which are given by segment number. Yields the number of texts done so far.
        ``check``: may raise to stop; the vectors computed until then are saved."""
        fingerprint = self._embedder.fingerprint
        if self._question is None and self._query:
            self._question = self._embedder.query(self._query)
        vectors = self._saved.vectors(fingerprint, texts) if self._saved else {}
        if self._question is not None:  # damaged vectors are embedded again
            width = self._question.shape
            vectors = {number: one for number, one in vectors.items() if one.shape == width and np.isfinite(one).all()}
        left = [number for number in texts if number not in vectors]
        new: dict[int, Vector] = {}
        try:
            embedded = zip(left, self._embedder.texts([texts[number] for number in left], check), strict=True)
            while some := dict(islice(embedded, _STEP)):
                new |= some
                yield len(vectors) + len(new)
        finally:
            if self._saved is not None and new:
                self._saved.save_vectors(fingerprint, {texts[number]: vector for number, vector in new.items()})
        self.known.update(texts)
        if self._question is not None:
            found = {number: float(vector @ self._question) for number, vector in (vectors | new).items()}
            self.found |= {number: near for number, near in found.items() if math.isfinite(near)}


def is_mostly_latin(text: str) -> bool:
    """Returns whether at least half of a text's letters are Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < _LAST_LATIN for letter in letters) >= len(letters)
