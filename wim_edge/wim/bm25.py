"""Relevance without a model: words in common with the question (Robertson and Zaragoza 2009)."""

from __future__ import annotations

from collections.abc import Sequence as Seq

import numpy as np
import numpy.typing as npt

from wim_edge.engine.api import Context, Sequence
from wim_edge.errors import InvalidRequestError
from wim_edge.library import SavedReading
from wim_edge.wim.plan import Piece
from wim_edge.wim.relevance import Ranking


def require_bm25s() -> None:
    """Raise InvalidRequestError if the package bm25s is missing: now, before anything is read."""
    try:
        import bm25s  # noqa: F401
    except ImportError:
        raise InvalidRequestError("BM25 needs the package bm25s", "pip install bm25s") from None


class Index:
    """An index over texts. Raises InvalidRequestError when the package bm25s is missing."""

    def __init__(self, texts: Seq[str]) -> None:
        require_bm25s()
        import bm25s

        self._n_texts = len(texts)
        self._index = bm25s.BM25()
        self._index.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """Of each text, 0 or more; shape (texts,)."""
        import bm25s

        words = bm25s.tokenize(query, return_ids=False, show_progress=False)[0]
        return self._index.get_scores(words) if words else np.zeros(self._n_texts, np.float32)


class BM25:
    """BM25 scores of the segments, each with its document's heading (see `relevance.Relevance`).

    Raises InvalidRequestError when the package bm25s is missing.
    """

    of_margins = reads = False
    evaluated_tokens = 0

    def __init__(self, query: str) -> None:
        require_bm25s()
        self._query = query
        self._scores: Seq[float] = ()

    @property
    def cells(self) -> int:
        return 0

    def ranking(self, n_segments: int) -> Ranking:
        return Ranking(n_segments)

    def open(self, context: Context, pieces: Seq[Piece], saved: SavedReading | None) -> None:
        self._scores = Index([piece.heading + piece.segment.text for piece in pieces]).scores(self._query).tolist()

    def window(self, sequence: Sequence) -> None:
        pass

    def look(self, sequence: Sequence) -> None:
        pass

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores[index]

    def close(self) -> None:
        pass
