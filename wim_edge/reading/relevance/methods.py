"""The relevance method that the settings ask for, and the model that scores.

    verdict          the paper's classifier prompt on the margin (Writing in the Margins, section 3.2 and appendix A)
    likelihood-gain  the gain in log P(question) by a segment in the cache               (likelihood.py)
    likelihood       log P(question | the segment alone)                                 (likelihood.py)
    cascade          the gain as a gate, then the likelihood                             (likelihood.py)
    bm25             words in common, without a model

Each returns a raw score; `Ranking` (ranking.py) turns all scores so far into relevances, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
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
from wim_edge.reading.relevance.likelihood import Cascade, Likelihood, LikelihoodGain, Relevance
from wim_edge.reading.resolved_settings import ResolvedSettings

_SLACK = 32  # tokens: a margin may be tokenized differently from its segment
_GATE = 2  # the gain ranks the right one of ten segments first or second in 87 to 95% of cases


@dataclass(frozen=True)
class Scorer:
    """The model that scores, with its prompts."""

    model: Model
    chat: ChatFormat
    prompts: Prompts


def relevance_for(resolved: ResolvedSettings, scorer: Scorer, query: str, *, auxiliary: bool) -> Relevance:
    """Returns the method of the settings. ``auxiliary``: the scorer is not the reader.

    Raises InvalidRequestError for a method that conflicts with other settings.
    """
    model, chat, prompts, name = scorer.model, scorer.chat, scorer.prompts, resolved.relevance
    if name == "bm25":
        return BM25(query)
    if name == "verdict":
        if auxiliary:
            return SeparateModelRelevance(lambda tokens: VerdictRelevance(model, chat, prompts, query, tokens), model)
        text_tokens = resolved.margin_tokens if resolved.pattern.margins else resolved.segment_tokens
        return VerdictRelevance(model, chat, prompts, query, text_tokens)
    if name not in ("likelihood", "likelihood-gain", "cascade"):
        raise NotImplementedError(f"unknown relevance method {name}")
    if auxiliary:
        if name == "likelihood-gain":
            raise InvalidRequestError(
                "likelihood-gain is measured in the cache of the model that reads",
                "With --relevance-model use --relevance likelihood or verdict.",
            )
        return SeparateModelRelevance(
            lambda tokens: Likelihood(model, chat, prompts, query, tokens, alone=False), model
        )
    # After a question, a text adds nothing to the question's likelihood
    query_first = resolved.settings.query_first
    alone = not resolved.pattern.deep and not query_first
    if name == "likelihood" or alone or (query_first and name == "cascade"):
        return Likelihood(model, chat, prompts, query, resolved.segment_tokens, alone=alone)
    if query_first:
        raise InvalidRequestError(
            "likelihood-gain cannot be measured with the question before the context", "Use --relevance likelihood."
        )
    if name == "likelihood-gain":
        return LikelihoodGain(model, prompts, query)
    return Cascade(model, chat, prompts, query, resolved.segment_tokens, max(_GATE, resolved.max_passages))


class BM25(Relevance):
    """BM25 scores of the segments with their headings (`wim_edge.words`)."""

    scores_in_nats = False

    def __init__(self, query: str) -> None:
        self._query = query
        self._scores: dict[int, float] = {}

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._scores = words.scores([piece.text for piece in pieces], self._query)

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        return self._scores.get(index, 0.0)


class SeparateModelRelevance(Relevance):
    """A method with a model and context of its own (Writing in the Margins, appendix A).

    ``method``: returns the method for texts of at most so many tokens of its model.
    """

    uses_own_model = True

    def __init__(self, method: Callable[[int], Relevance], model: Model) -> None:
        self._make, self._model, self.name = method, model, model.info.name
        self._method = method(1)
        self.context: Context | None = None
        self.scores_margins = self._method.scores_margins
        self.independent, self.uses_outlook = self._method.independent, self._method.uses_outlook

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        longest = max(len(self._model.tokenize(piece.text)) for piece in pieces)
        self._method = self._make(longest + _SLACK)
        if self._method.reserved_cells > self._model.info.n_ctx_train:
            raise InvalidRequestError(
                f"a segment has {longest:,} tokens of the relevance model, whose context is "
                f"{self._model.info.n_ctx_train:,}",
                "Use smaller segments (--segment-tokens) or another --relevance-model.",
            )
        self.context = self._model.context(self._method.reserved_cells)
        self._method.open(self.context, pieces, None)  # the saved reading is the reader's

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        return self._method.score(index, sequence, text)

    def close(self) -> None:
        self._method.close()
        if self.context is not None:
            self.context.close()


_NO_TEXT = -20.0  # log-odds of an empty margin


def verdict_tokens(model: Model, word: str) -> set[int]:
    """Returns the tokens that begin the word, in any case, with or without a space before it."""
    forms = (word.upper(), word.capitalize(), word.lower())
    return {model.tokenize(space + form)[0] for form in forms for space in ("", " ")}


class VerdictRelevance(Relevance):
    """The log-odds that a margin helps with the question.

    The prompt before the margin is prefilled once; each margin is appended and truncated again. ``text_tokens``: the
    tokens of the longest margin or segment.
    """

    scores_margins = independent = True

    def __init__(self, model: Model, chat: ChatFormat, prompts: Prompts, query: str, text_tokens: int) -> None:
        self._model, self._text_tokens = model, text_tokens
        before, after = prompts.classify(query)
        self._preamble = [*chat.opening(model, prompts.system()), *model.tokenize(before)]
        self._after = [*model.tokenize(after), *chat.after_user]
        yes, no = verdict_tokens(model, "yes"), verdict_tokens(model, "no")
        self._yes, self._no = sorted(yes - no), sorted(no - yes)
        if not self._yes or not self._no:
            raise ModelFileError("the model's tokenizer has no different tokens for YES and NO", "Use another model.")
        self._sequence: Sequence | None = None

    @property
    def reserved_cells(self) -> int:
        return len(self._preamble) + self._text_tokens + len(self._after)

    def open(self, context: Context, pieces: Seq[PlannedSegment], saved: SavedReading | None) -> None:
        self._sequence = context.sequence()

    def score(self, index: int, sequence: Sequence, text: str) -> float:
        if not text:
            return _NO_TEXT
        own = self._sequence
        assert own is not None
        if not len(own):
            own.append(self._preamble)
            own.checkpoint()
        try:
            tokens = self._model.tokenize(text)
            own.append([*tokens, *self._after])
            self.evaluated_tokens += len(tokens)
            logprobs = log_softmax(own.logits)
        finally:
            own.truncate(min(len(own), len(self._preamble)))
        yes, no = (float(np.logaddexp.reduce(logprobs[ids])) for ids in (self._yes, self._no))
        return yes - no

    def close(self) -> None:
        if self._sequence is not None:
            self._sequence.close()
