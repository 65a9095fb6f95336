"""From the settings to a relevance method: which one, and whose model scores."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from wim_edge.engine.api import Context, Model, Sequence
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Settings
from wim_edge.wim.bm25 import BM25
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.likelihood import Cascade, Likelihood, LikelihoodGain
from wim_edge.wim.pattern import Choices
from wim_edge.wim.plan import Piece
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.relevance import Ranking, Relevance
from wim_edge.wim.verdict import Verdict

_GATE = 2  # the gain had the right one of ten among its first two in 87 to 95% of cases


@dataclass(frozen=True)
class Judge:
    """The model that scores, with its prompts."""

    model: Model
    chat: ChatFormat
    prompts: Prompts


def relevance_for(settings: Settings, choices: Choices, judge: Judge, query: str, *, auxiliary: bool) -> Relevance:
    """The method that was chosen. ``auxiliary``: the judge is not the model that reads.

    Raises InvalidRequestError for a method that does not go with the other settings.
    """
    model, chat, prompts, name = judge.model, judge.chat, judge.prompts, choices.relevance
    if name == "bm25":
        return BM25(query)
    if name == "verdict":
        text_tokens = choices.margin_tokens if choices.pattern.margins else choices.segment_tokens
        verdict = Verdict(model, chat, prompts, query, text_tokens)
        return Auxiliary(verdict, model) if auxiliary else verdict
    # With the question already before the text, the text adds nothing to its likelihood
    alone = not choices.pattern.deep and not settings.query_first and not auxiliary
    likelihood = Likelihood(model, chat, prompts, query, choices.segment_tokens, alone=alone)
    if auxiliary:
        if name == "likelihood-gain":
            raise InvalidRequestError(
                "likelihood-gain is measured in the cache of the model that reads",
                "With --relevance-model use --relevance likelihood or verdict.",
            )
        return Auxiliary(likelihood, model)
    if name == "likelihood" or alone:
        return likelihood
    if settings.query_first:
        if name == "cascade":
            return likelihood
        raise InvalidRequestError(
            "likelihood-gain cannot be measured with the question before the context", "Use --relevance likelihood."
        )
    gain = LikelihoodGain(model, prompts, query)
    return gain if name == "likelihood-gain" else Cascade(gain, likelihood, max(_GATE, choices.max_passages))


class Auxiliary:
    """A method on a model of its own, in a context of its own (Writing in the Margins, appendix A).

    Its tokens are not the reader's, so its context has twice the room that the reader's would need.
    """

    reads = False
    cells = 0

    def __init__(self, method: Relevance, model: Model) -> None:
        self._method, self._model = method, model
        self._context: Context | None = None
        self.of_margins = method.of_margins

    def ranking(self, n_segments: int) -> Ranking:
        return self._method.ranking(n_segments)

    def open(self, context: Context, pieces: Seq[Piece]) -> None:
        self._context = self._model.context(min(2 * self._method.cells, self._model.info.n_ctx_train))
        self._method.open(self._context, pieces)

    def window(self, sequence: Sequence) -> None:
        pass

    def score(self, index: int, sequence: Sequence, text: str) -> float | None:
        return self._method.score(index, sequence, text)

    def close(self) -> None:
        self._method.close()
        if self._context is not None:
            self._context.close()
