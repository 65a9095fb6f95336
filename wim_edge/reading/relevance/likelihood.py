"""Relevance by the likelihood of the question: log P(question | text), in nats.

The likelier a language model finds a question after a text, the better the text answers it (Ponte and Croft 1998;
Sachan et al. 2022, "Improving passage retrieval with zero-shot question generation"). Nothing is decoded: a segment
takes one small batch, which is rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

import numpy as np

from wim_edge.engine.protocols import Context, Model, Sequence
from wim_edge.engine.sampling import log_softmax
from wim_edge.library import SavedReading
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.plan import PlannedSegment
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.ranking import Ranking


class Relevance:
    """A method: `open`, then `begin_window` and `score` during the reading, then `close`. The scores enter a
    softmax in which no text has 0: their unit is the nat, and a positive one says that the segment helps."""

    scores_margins = False
    """True if it scores a text (the margin, or the segment's without margins), not the segment in the cache."""
    needs_sequence = False
    """True if it needs the segment in the reading's sequence."""
    uses_own_model = False
    """True if it scores with a model of its own."""
    independent = False
    """True if a score is the log-odds of its segment, whatever the others' scores; the answer is then not judged."""
    uses_outlook = False
    """True if what is known before reading, words and the scout, counts too (`wim_edge.reading.ranking.Ranking`)."""
    scores_in_nats = True
    """True if its scores are log-likelihoods or log-odds, from which the support is computed."""
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


class QuestionLikelihood:
    """The question's tokens as they follow a text."""

    def __init__(self, model: Model, prompts: Prompts, query: str) -> None:
        before = prompts.before_question()
        stripped = before.rstrip(" ")
        self._before = model.tokenize(stripped)
        self._tokens = model.tokenize(before[len(stripped) :] + query)

    def __len__(self) -> int:
        return len(self._before) + len(self._tokens)

    def log_likelihood(self, sequence: Sequence) -> float:
        """Returns log P(question | the sequence), in nats; leaves no trace."""
        rows = len(self._tokens)
        with sequence.fork() as branch:
            logits = branch.append([*self._before, *self._tokens], rows=rows + 1)
        logprobs = log_softmax(logits[:-1])
        return float(logprobs[np.arange(rows), self._tokens].sum())


class Likelihood(Relevance):
    """log P(question | segment alone) - log P(question | nothing).

    Args:
        alone: True if the reading's own sequence holds each segment alone (shallow reading); else each is evaluated
            again in a short sequence.
        segment_tokens: the tokens of the longest segment.
    """

    uses_outlook = True

    def __init__(
        self, model: Model, chat: ChatFormat, prompts: Prompts, query: str, segment_tokens: int, *, alone: bool
    ) -> None:
        self._model, self._segment_tokens, self._alone = model, segment_tokens, alone
        self.needs_sequence = alone
        self._question = QuestionLikelihood(model, prompts, query)
        self._opening = chat.opening(model, prompts.system())
        self._own: Sequence | None = None
        self._pieces: Seq[PlannedSegment] = ()
        self._saved: SavedReading | None = None
        self._nothing = 0.0

    @property
    def reserved_cells(self) -> int:
        return len(self._question) + (0 if self._alone else len(self._opening) + self._segment_tokens)

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._pieces, self._saved = pieces, saved
        if not self._alone:
            self._own = context.sequence()

    def begin_window(self, sequence: Sequence) -> None:
        if self._alone and not self._nothing:
            self._nothing = self._question.log_likelihood(sequence)

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        if self._own is None:
            return self._question.log_likelihood(sequence) - self._nothing
        own, piece = self._own, self._pieces[index]
        if not len(own):
            own.append(self._opening)
            own.checkpoint()
            self._nothing = self._question.log_likelihood(own)
        try:
            self._put(own, self._model.tokenize(piece.text))
            return self._question.log_likelihood(own) - self._nothing
        finally:
            own.truncate(min(len(own), len(self._opening)))

    def _put(self, own: Sequence, text: list[int]) -> None:
        """Extends the sequence from the opening to the text's end, from the saved reading if possible."""
        tokens = [*self._opening, *text]
        known = self._saved.find(tokens, [len(tokens)], len(tokens), aside=True) if self._saved else None
        if known is not None:
            own.restore(known)
            return
        own.append(text)
        self.evaluated_tokens += len(text)
        if self._saved is not None:
            own.checkpoint()
            self._saved.save(own, [len(self._opening), len(tokens)], aside=True)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()


class LikelihoodGain(Relevance):
    """The gain in the question's log-likelihood, in nats, when a segment enters the cache.

    Scaled by log P(question | nothing) / log P(question | the cache before): later segments, after which less gain is
    possible, are not at a disadvantage.
    """

    needs_sequence = True

    def __init__(self, model: Model, prompts: Prompts, query: str) -> None:
        self._question = QuestionLikelihood(model, prompts, query)
        self._nothing = self._before = 0.0

    @property
    def reserved_cells(self) -> int:
        return len(self._question)

    def begin_window(self, sequence: Sequence) -> None:
        self._nothing = self._nothing or self._question.log_likelihood(sequence)
        self._before = self._nothing

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        before, self._before = self._before, self._question.log_likelihood(sequence)
        return (self._before - before) * self._nothing / min(before, -1e-6)


class Cascade(Likelihood):
    """The likelihood, only for segments that are among the first ``width`` by the gain so far."""

    uses_outlook = False

    def __init__(
        self, model: Model, chat: ChatFormat, prompts: Prompts, query: str, segment_tokens: int, width: int
    ) -> None:
        super().__init__(model, chat, prompts, query, segment_tokens, alone=False)
        self.needs_sequence = True
        self._gain, self._gains, self._width = LikelihoodGain(model, prompts, query), Ranking(0), width

    def begin_window(self, sequence: Sequence) -> None:
        self._gain.begin_window(sequence)

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        self._gains.scores[index] = self._gain.score(index, sequence, text)
        is_first = index in self._gains.order()[: self._width]
        return super().score(index, sequence, text) if is_first else None
