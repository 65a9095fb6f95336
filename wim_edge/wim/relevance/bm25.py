"""Relevance without a model: words in common with the question (`wim_edge.words`)."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge import words
from wim_edge.engine.protocols import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.wim.order import Outlook
from wim_edge.wim.plan import PlannedSegment
from wim_edge.wim.ranking import Ranking


class BM25:
    """BM25 scores of the segments, each with its document's heading (see `relevance.Relevance`)."""

    scores_margins = needs_sequence = elsewhere = False
    evaluated_tokens = 0

    def __init__(self, query: str) -> None:
        self._query = query
        self._scores: dict[int, float] = {}

    @property
    def cells(self) -> int:
        return 0

    def ranking(self, n_segments: int, outlook: Outlook | None) -> Ranking:
        return Ranking(n_segments)

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._scores = words.scores([piece.text for piece in pieces], self._query)

    def begin_window(self, sequence: Sequence) -> None:
        pass

    def premeasure(self, sequence: Sequence) -> None:
        pass

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores.get(index, 0.0)

    def close(self) -> None:
        pass
