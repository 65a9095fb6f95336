"""The paper's classifier prompt on a margin (Writing in the Margins, section 3.2 and appendix A).

The verdict is the probability of YES against NO in the logits of one pass: nothing is sampled or parsed.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

import numpy as np

from wim_edge.engine.protocols import Context, Model, Sequence
from wim_edge.engine.sampling import log_softmax
from wim_edge.errors import ModelFileError
from wim_edge.library import SavedReading
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.plan import PlannedSegment
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.relevance.relevance import Relevance

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
