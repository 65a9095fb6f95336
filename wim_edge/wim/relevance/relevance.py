"""Relevance: how much a segment, or its margin, matters to the question. One interface, five methods.

    verdict          the paper's classifier prompt on the margin (Writing in the Margins, 3.2)    verdict.py
    likelihood-gain  what a segment adds to the question's log-probability in the cache          likelihood.py
    likelihood       the question's log-probability given the segment alone                      likelihood.py
    cascade          the gain as the gate, the likelihood for those that pass                    likelihood.py
    bm25             words in common, no model                                                   bm25.py

Each gives a raw score; `Ranking` (ranking.py) makes of all scores so far the relevance of each segment, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.engine.protocols import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.wim.order import Outlook
from wim_edge.wim.plan import PlannedSegment
from wim_edge.wim.ranking import Ranking


class Relevance:
    """A method. Its life: `open`, then `begin_window` and `score` as the reading goes, `close`."""

    scores_margins = False
    """It judges a text: the margin or, where none is written, the segment's. Else the segment itself."""
    needs_sequence = False
    """It needs the segment in the reading's sequence."""
    elsewhere = False
    """It reads what it scores by a model of its own."""
    evaluated_tokens = 0
    """Tokens of texts that it has put into a sequence of its own, on the model that reads."""

    @property
    def reserved_cells(self) -> int:
        """Cells of the context that it takes for itself at most."""
        return 0

    def ranking(self, n_segments: int, outlook: Outlook | None) -> Ranking:
        """Returns what holds its scores; ``outlook``: see `ranking.Ranking`."""
        return Ranking(n_segments)

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        """Get ready to score these segments; may take a sequence of the context, and keep what it
        evaluates with the saved reading."""

    def begin_window(self, sequence: Sequence) -> None:
        """The reading's sequence holds the opening alone; segments follow."""

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        """Score segment ``index``, with which ``sequence`` ends; ``text`` is what `scores_margins` judges.
        None: it does not pass the gate. Raises Interrupted, ContextOverflowError."""
        raise NotImplementedError

    def close(self) -> None:
        """Free what `open` has taken."""
