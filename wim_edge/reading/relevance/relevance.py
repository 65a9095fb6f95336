"""The relevance of a segment, or of its margin, to the question: one interface, five methods.

    verdict          the paper's classifier prompt on the margin (Writing in the Margins, 3.2)    verdict.py
    likelihood-gain  the gain in the question's log-probability by a segment in the cache        likelihood.py
    likelihood       the question's log-probability given the segment alone                      likelihood.py
    cascade          the gain as the gate, the likelihood for those that pass                    likelihood.py
    bm25             words in common, no model                                                   bm25.py

Each gives a raw score; `Ranking` (ranking.py) turns all scores so far into the relevance of each segment, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.engine.protocols import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.reading.outlook import Outlook
from wim_edge.reading.plan import PlannedSegment
from wim_edge.reading.ranking import Ranking


class Relevance:
    """A method. Its life: `open`, then `begin_window` and `score` as the reading goes on, then `close`."""

    scores_margins = False
    """True if it judges a text: the margin or, if none is written, the segment's; else it scores the segment itself."""
    needs_sequence = False
    """True if it needs the segment in the reading's sequence."""
    uses_own_model = False
    """True if it reads what it scores with a model of its own."""
    scores_in_nats = True
    """True if its scores are log-likelihoods or log-odds, from which support can be told."""
    evaluated_tokens = 0
    """The tokens of texts that it has put into a sequence of its own, on the model that reads."""

    @property
    def reserved_cells(self) -> int:
        """The most cells of the context that it takes for itself."""
        return 0

    def ranking(self, n_segments: int, outlook: Outlook | None) -> Ranking:
        """Returns the ranking that holds its scores; ``outlook``: see `ranking.Ranking`."""
        return Ranking(n_segments)

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        """Gets ready to score these segments; may take a sequence of the context, and keep what it
        evaluates with the saved reading."""

    def begin_window(self, sequence: Sequence) -> None:
        """Begins a window: the reading's sequence holds the opening alone; segments follow."""

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        """Scores segment ``index``, with which ``sequence`` ends; ``text`` is the one that `scores_margins` judges.
        None: it does not pass the gate. Raises Interrupted, ContextOverflowError."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees the resources that `open` has taken."""
