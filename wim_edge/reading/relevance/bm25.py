"""Relevance without a model: BM25 over words in common (`wim_edge.words`)."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge import words
from wim_edge.engine.protocols import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.reading.plan import PlannedSegment
from wim_edge.reading.relevance.relevance import Relevance


class BM25(Relevance):
    """BM25 scores of the segments with their headings."""

    scores_in_nats = False

    def __init__(self, query: str) -> None:
        self._query = query
        self._scores: dict[int, float] = {}

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._scores = words.scores([piece.text for piece in pieces], self._query)

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores.get(index, 0.0)
