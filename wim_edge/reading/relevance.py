"""The methods for the relevance of segments to the question (docs/how-it-works.md lists them). A method returns a raw
score; `Ranking` (ranking.py) turns all scores so far into relevances, 0 to 1. The likelier a language model finds a
question after a text, the better the text answers it (Ponte and Croft 1998; Sachan et al. 2022, "Improving passage
retrieval with zero-shot question generation"). This takes one small batch per segment, then rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence as Seq
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from wim_edge import words
from wim_edge.engine.protocols import Context, Model, Sequence
from wim_edge.engine.sampling import log_softmax
from wim_edge.errors import InvalidRequestError, ModelFileError
from wim_edge.library import SavedReading
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.plan import PlannedSegment
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.ranking import Ranking
from wim_edge.reading.resolved_settings import ResolvedSettings

_SLACK = 32  # spare tokens: a margin may be tokenized differently from its segment
_GATE = 2  # least width of `Cascade`: the gain ranks the right one of ten segments first or second in 87 to 95%
_NO_TEXT = -20.0  # log-odds of an empty margin


@dataclass(frozen=True)
class Scorer:
    """The model that scores segments or margins, with its chat format and prompts."""

    model: Model
    chat: ChatFormat
    prompts: Prompts
    is_other: bool = False
    """True if this model is not the model that reads."""


class Relevance:
    """A relevance method: call `open`, then `begin_window` and `score` during the reading, then `close`. Scores enter a
    softmax in which an empty text has the score 0; a positive score means that the segment helps."""

    scores_margins = False
    """True if the method scores a text (the margin or, without margins, the segment) instead of the segment in the
    cache. A score is the log-odds that this text alone helps, and the answer is not judged (`answer/judged.py`)."""
    needs_sequence = False
    """True if `score` needs the reading's sequence to end with the segment."""
    own_model: str | None = None
    """The name of the model that scores, if it is not the model that reads."""
    context: Context | None = None
    """The context of ``own_model``; None: no such context is open."""
    uses_outlook = False
    """True if the outlook (words in common, the scout) is part of the ranking (`wim_edge.reading.ranking.Ranking`)."""
    scores_in_nats = True
    """True if the scores are log-likelihoods or log-odds, from which the support is computed."""
    evaluated_tokens = 0
    """The number of tokens that the reading's model has evaluated in the method's own sequence."""
    reserved_cells = 0
    """The most cells that the method needs in the reading's context."""

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        """Prepares to score the segments ``pieces``. May take a sequence of the context, and use the saved reading."""

    def begin_window(self, sequence: Sequence) -> None:
        """Prepares for the segments of a window. ``sequence``: the reading's, which holds only the opening now."""

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        """Returns the score of segment ``index``, with which the sequence ends; None if its gain was too small
        (`Cascade`). ``text``: the text to score, if `scores_margins`. Raises Interrupted, ContextOverflowError."""
        raise NotImplementedError

    def gain(self, sequence: Sequence) -> float:
        """Returns log P(question | the sequence) - log P(question | nothing), in nats. Only if ``uses_outlook``."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees what `open` took."""


class QuestionLikelihood:
    """Measures how likely the question is after a text. `len` is the number of tokens that one measurement appends."""

    def __init__(self, model: Model, prompts: Prompts, query: str) -> None:
        before = prompts.before_question()
        stripped = before.rstrip(" ")
        self._before = model.tokenize(stripped)
        self._tokens = model.tokenize(before[len(stripped) :] + query)

    def __len__(self) -> int:
        return len(self._before) + len(self._tokens)

    def log_likelihood(self, sequence: Sequence) -> float:
        """Returns log P(question | the sequence), in nats; leaves the sequence as it was."""
        rows = len(self._tokens)
        with sequence.fork() as branch:
            logits = branch.append([*self._before, *self._tokens], rows=rows + 1)
        logprobs = log_softmax(logits[:-1])
        return float(logprobs[np.arange(rows), self._tokens].sum())


class InOwnSequence(Relevance):
    """Scores texts in a sequence of the method's own. The opening is evaluated once; each text is appended, then
    removed. If another model reads, the method has its own context, too (Writing in the Margins, appendix A).
    ``opening``: the tokens before a text; ``text_tokens``: its most tokens; ``more``: the number of tokens after it."""

    def __init__(self, scorer: Scorer, opening: list[int], text_tokens: int, more: int) -> None:
        self._model, self._opening, self._beside = scorer.model, opening, len(opening) + more
        self.own_model = scorer.model.info.name if scorer.is_other else None
        self.reserved_cells = self._beside + text_tokens if self.own_model is None else 0
        self._own: Sequence | None = None
        self._pieces: Seq[PlannedSegment] = ()
        self._saved: SavedReading | None = None

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._pieces = pieces
        if self.own_model is None:
            self._saved = saved  # its states are of the model that reads
        else:
            context = self.context = self._open_context()
        self._own = context.sequence()

    def _open_context(self) -> Context:
        longest = max(len(self._model.tokenize(piece.text)) for piece in self._pieces)
        n_cells, most = self._beside + longest + _SLACK, self._model.info.n_ctx_train
        if n_cells > most:
            raise InvalidRequestError(
                f"a segment has {longest:,} tokens of the relevance model, whose context is {most:,}",
                "Use smaller segments (--segment-tokens) or another --relevance-model.",
            )
        return self._model.context(n_cells)

    @contextmanager
    def _after_opening(self) -> Iterator[Sequence]:
        """Yields the method's sequence, which holds the opening; removes what the block appends."""
        own = self._own
        assert own is not None
        if not len(own):
            own.append(self._opening)
            own.checkpoint()
        try:
            yield own
        finally:
            own.truncate(min(len(own), len(self._opening)))

    def _append(self, own: Sequence, text: list[int], more: Seq[int] = ()) -> None:
        own.append([*text, *more])
        if self.own_model is None:
            self.evaluated_tokens += len(text)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        if self.context is not None:
            self.context.close()


class Likelihood(InOwnSequence):
    """Scores a segment by log P(question | segment alone) - log P(question | nothing), in nats. ``alone``: True if the
    reading's own sequence holds each segment alone (shallow reading), so that none is evaluated again."""

    uses_outlook = True

    def __init__(self, scorer: Scorer, query: str, segment_tokens: int, *, alone: bool) -> None:
        self._question = QuestionLikelihood(scorer.model, scorer.prompts, query)
        opening = scorer.chat.opening(scorer.model, scorer.prompts.system())
        super().__init__(scorer, opening, segment_tokens, len(self._question))
        self.needs_sequence = self._alone = alone
        if alone:
            self.reserved_cells = len(self._question)
        self._nothing = 0.0

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        if not self._alone:
            super().open(context, pieces, saved)

    def begin_window(self, sequence: Sequence) -> None:
        if self._alone and not self._nothing:
            self._nothing = self._question.log_likelihood(sequence)

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        if self._alone:
            return self.gain(sequence)
        with self._after_opening() as own:
            self._nothing = self._nothing or self._question.log_likelihood(own)
            self._put(own, self._model.tokenize(self._pieces[index].text))
            return self.gain(own)

    def gain(self, sequence: Sequence) -> float:
        return self._question.log_likelihood(sequence) - self._nothing

    def _put(self, own: Sequence, text: list[int]) -> None:
        """Appends the text to a sequence that contains the opening, or restores both from the saved reading."""
        tokens = [*self._opening, *text]
        known = self._saved.find(tokens, [len(tokens)], len(tokens), aside=True) if self._saved else None
        if known is not None:
            own.restore(known)
            return
        self._append(own, text)
        if self._saved is not None:
            own.checkpoint()
            self._saved.save(own, [len(self._opening), len(tokens)], aside=True)


class LikelihoodGain(Relevance):
    """Scores a segment by the question's gain in log-likelihood, in nats, when the segment is read; scaled by log
    P(question | nothing) / log P(question | the cache before), because less gain is possible for later segments."""

    needs_sequence = True

    def __init__(self, scorer: Scorer, query: str) -> None:
        self._question = QuestionLikelihood(scorer.model, scorer.prompts, query)
        self.reserved_cells = len(self._question)
        self._nothing = self._before = 0.0

    def begin_window(self, sequence: Sequence) -> None:
        self._nothing = self._nothing or self._question.log_likelihood(sequence)
        self._before = self._nothing

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        before, self._before = self._before, self._question.log_likelihood(sequence)
        return (self._before - before) * self._nothing / min(before, -1e-6)


class Cascade(Likelihood):
    """Scores a segment as `Likelihood` does, if its `LikelihoodGain` is among the best ``width`` so far; else None."""

    uses_outlook = False

    def __init__(self, scorer: Scorer, query: str, segment_tokens: int, width: int) -> None:
        super().__init__(scorer, query, segment_tokens, alone=False)
        self.needs_sequence = True
        self._gain, self._gains, self._width = LikelihoodGain(scorer, query), Ranking(0), width

    def begin_window(self, sequence: Sequence) -> None:
        self._gain.begin_window(sequence)

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        self._gains.scores[index] = self._gain.score(index, sequence, text)
        return super().score(index, sequence, text) if index in self._gains.order()[: self._width] else None


class BM25(Relevance):
    """Scores a segment, with its heading, by BM25 for the question (`wim_edge.words`)."""

    scores_in_nats = False

    def __init__(self, query: str) -> None:
        self._query = query
        self._scores: dict[int, float] = {}

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._scores = words.scores([piece.text for piece in pieces], self._query)

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores.get(index, 0.0)


def verdict_tokens(model: Model, word: str) -> set[int]:
    """Returns the first tokens of a word's forms: upper, title and lower case, each with and without a space before."""
    forms = (word.upper(), word.capitalize(), word.lower())
    return {model.tokenize(space + form)[0] for form in forms for space in ("", " ")}


class VerdictRelevance(InOwnSequence):
    """Scores a margin by the log-odds that it helps with the question (Writing in the Margins, 3.2 and appendix A)."""

    scores_margins = True

    def __init__(self, scorer: Scorer, query: str, text_tokens: int) -> None:
        model = scorer.model
        before, after = scorer.prompts.classify(query)
        self._after = [*model.tokenize(after), *scorer.chat.after_user]
        opening = [*scorer.chat.opening(model, scorer.prompts.system()), *model.tokenize(before)]
        super().__init__(scorer, opening, text_tokens, len(self._after))
        yes, no = verdict_tokens(model, "yes"), verdict_tokens(model, "no")
        self._yes, self._no = sorted(yes - no), sorted(no - yes)
        if not self._yes or not self._no:
            raise ModelFileError("the model's tokenizer has no different tokens for YES and NO", "Use another model.")

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        if not text:
            return _NO_TEXT
        with self._after_opening() as own:
            self._append(own, self._model.tokenize(text), self._after)
            logprobs = log_softmax(own.logits)
        yes, no = (float(np.logaddexp.reduce(logprobs[ids])) for ids in (self._yes, self._no))
        return yes - no


def relevance_for(resolved: ResolvedSettings, scorer: Scorer, query: str) -> Relevance:
    """Returns the relevance method of the settings. Raises InvalidRequestError if other settings forbid it."""
    name = resolved.relevance
    if name == "bm25":
        return BM25(query)
    if name == "verdict":
        text_tokens = resolved.margin_tokens if resolved.pattern.margins else resolved.segment_tokens
        return VerdictRelevance(scorer, query, text_tokens)
    if scorer.is_other and name == "likelihood-gain":
        raise InvalidRequestError(
            "likelihood-gain is measured in the cache of the model that reads",
            "With --relevance-model use --relevance likelihood or verdict.",
        )
    # If the question comes before the text, the text adds nothing to its likelihood
    query_first = resolved.settings.query_first
    alone = not resolved.pattern.deep and not query_first and not scorer.is_other
    if name == "likelihood" or scorer.is_other or alone or (query_first and name == "cascade"):
        return Likelihood(scorer, query, resolved.segment_tokens, alone=alone)
    if query_first:
        raise InvalidRequestError(
            "likelihood-gain cannot be measured with the question before the context", "Use --relevance likelihood."
        )
    if name == "likelihood-gain":
        return LikelihoodGain(scorer, query)
    return Cascade(scorer, query, resolved.segment_tokens, max(_GATE, resolved.max_passages))
