"""The interface of the relevance methods.

    verdict          the paper's classifier prompt on the margin (Writing in the Margins, 3.2)    verdict.py
    likelihood-gain  the gain in log P(question) by a segment in the cache                        likelihood.py
    likelihood       log P(question | the segment alone)                                          likelihood.py
    cascade          the gain as a gate, then the likelihood                                      likelihood.py
    bm25             words in common, without a model                                             methods.py

Each returns a raw score; `Ranking` (ranking.py) turns all scores so far into relevances, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.engine.protocols import Context, Sequence
from wim_edge.library import SavedReading
from wim_edge.reading.plan import PlannedSegment


class Relevance:
    """A method: `open`, then `begin_window` and `score` during the reading, then `close`."""

    scores_margins = False
    """True if it scores a text (the margin, or the segment's without margins), not the segment in the cache."""
    needs_sequence = False
    """True if it needs the segment in the reading's sequence."""
    uses_own_model = False
    """True if it scores with a model of its own."""
    independent = False
    """True if a score is the log-odds of its segment, whatever the others' scores."""
    uses_outlook = False
    """True if the outlook is the prior of its scores (`wim_edge.reading.ranking.Ranking`)."""
    scores_in_nats = True
    """True if its scores are log-likelihoods or log-odds, as support needs."""
    evaluated_tokens = 0
    """The tokens that it evaluated in a sequence of its own, with the reading's model."""

    @property
    def reserved_cells(self) -> int:
        """The most cells of the context that it needs."""
        return 0

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        """Prepares to score these segments. May take a sequence of the context, and use the saved reading."""

    def begin_window(self, sequence: Sequence) -> None:
        """Begins a window: the reading's sequence holds the opening alone."""

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        """Returns the score of segment ``index``, which ends the sequence; None: a gate held it back.

        ``text``: the text to score, if `scores_margins`. Raises Interrupted, ContextOverflowError.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Frees what `open` took."""
