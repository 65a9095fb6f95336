"""Relevance without a model: words in common with the question (Robertson and Zaragoza 2009)."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.engine.api import Context, Sequence
from wim_edge.errors import InvalidRequestError
from wim_edge.wim.plan import Piece
from wim_edge.wim.relevance import Ranking


class BM25:
    """BM25 scores of the segments, each with its document's heading (see `relevance.Relevance`).

    Raises InvalidRequestError when the package bm25s is missing.
    """

    of_margins, reads = False, False

    def __init__(self, query: str) -> None:
        try:
            import bm25s  # noqa: F401 - missing, it should fail before anything is read
        except ImportError:
            raise InvalidRequestError(
                "the relevance bm25 needs the package bm25s", "pip install bm25s, or use another --relevance."
            ) from None
        self._query = query
        self._scores: Seq[float] = ()

    @property
    def cells(self) -> int:
        return 0

    def ranking(self, n_segments: int) -> Ranking:
        return Ranking(n_segments)

    def open(self, context: Context, pieces: Seq[Piece]) -> None:
        import bm25s

        texts = bm25s.tokenize([piece.heading + piece.segment.text for piece in pieces], show_progress=False)
        index = bm25s.BM25()
        index.index(texts, show_progress=False)
        found = bm25s.tokenize(self._query, return_ids=False, show_progress=False)[0]
        self._scores = index.get_scores(found).tolist() if found else [0.0] * len(pieces)

    def window(self, sequence: Sequence) -> None:
        pass

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores[index]

    def close(self) -> None:
        pass
