"""Relevance: how much a segment, or its margin, matters to the question. One interface, five methods.

    verdict          the paper's classifier prompt on the margin (Writing in the Margins, 3.2)    verdict.py
    likelihood-gain  what a segment adds to the question's log-probability in the cache          likelihood.py
    likelihood       the question's log-probability given the segment alone                      likelihood.py
    cascade          the gain as the gate, the likelihood for those that pass                    likelihood.py
    bm25             words in common, no model                                                   bm25.py

Each gives a raw score; `Ranking` makes of all scores so far the relevance of each segment, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from wim_edge.engine.api import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.wim.plan import Piece


class Relevance(Protocol):
    """A method. Its life: `open`, then `window` and `score` as the reading goes, `close`."""

    of_margins: bool
    """It judges a text: the margin or, where none is written, the segment's. Else the segment itself."""
    reads: bool
    """It needs the segment in the reading's sequence."""

    @property
    def evaluated_tokens(self) -> int:
        """Tokens of texts that it has put into a sequence of its own, on the model that reads."""
        ...

    @property
    def cells(self) -> int:
        """Cells of the context that it takes for itself at most."""
        ...

    def ranking(self, n_segments: int) -> Ranking: ...

    def open(self, context: Context, pieces: Seq[Piece], saved: SavedReading | None) -> None:
        """Get ready to score these segments; may take a sequence of the context, and keep what it
        evaluates with the saved reading."""
        ...

    def window(self, sequence: Sequence) -> None:
        """The reading's sequence holds the opening alone; segments follow."""
        ...

    def look(self, sequence: Sequence) -> None:
        """The reading's sequence ends with a segment that will be scored later, when more stands after it: measure
        now what depends on the sequence."""
        ...

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        """Score segment ``index``, with which ``sequence`` ends; ``text`` is what `of_margins` judges.
        None: it does not pass the gate. Raises Interrupted, ContextOverflowError."""
        ...

    def close(self) -> None: ...


_PROBABLE, _NEAR = 0.5, 0.1


@dataclass
class Ranking:
    """The scores of a document's segments, and what they mean beside each other.

    Each segment counts alike beforehand, so that by Bayes' rule P(segment | question) is the softmax of
    the scores. Segments without a score (not read yet, or held back by a gate) count with 0, the score
    of no segment at all. ``own``: a score is log-odds and speaks for its segment alone.
    """

    n_segments: int
    own: bool = False
    scores: dict[int, float] = field(default_factory=dict)
    judged: Mapping[int, bool] = field(default_factory=dict)
    """What the reader says of segments, which counts more: one that is accepted matters, one that is not does not."""

    def relevance(self, index: int) -> float:
        """0 to 1, as of all that has been scored so far."""
        if index not in self.scores:
            return 0.0
        score = self.scores[index]
        if self.own:
            return float(1 / (1 + np.exp(-score)))
        others = np.array([*self.scores.values(), *[0.0] * (self.n_segments - len(self.scores))])
        return float(1 / np.exp(others - score).sum())

    def order(self) -> list[int]:
        """Scored segments, most relevant first."""
        return sorted(self.scores, key=lambda index: (-self.scores[index], index))

    def unjudged(self) -> list[int]:
        """Scored segments of which the reader has said nothing, most relevant first."""
        return [index for index in self.order() if index not in self.judged]

    def chosen(self, at_most: int, threshold: float | None = None) -> list[int]:
        """The segments that matter, so many at most, most relevant first.

        With log-odds those whose relevance reaches the threshold (None: 0.5); else those that make the
        question likelier than no text at all, and have the best one's relevance times the threshold
        (None: 0.1) or more: the gap decides, not the number. Those that the reader accepts come first, all of them.
        """
        accepted = [index for index in self.order() if self.judged.get(index)]
        best = self.unjudged()[: max(0, at_most - len(accepted))]
        if self.own:
            least = _PROBABLE if threshold is None else threshold
        else:
            best = [index for index in best if self.scores[index] > 0]
            least = (_NEAR if threshold is None else threshold) * self.relevance(best[0]) if best else 0.0
        return [*accepted, *(index for index in best if self.relevance(index) >= least)]
