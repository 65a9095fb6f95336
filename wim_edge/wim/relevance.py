"""Judging margins: the paper's classifier prompt, its verdict read from the logits.

Writing in the Margins, section 3.2 and appendix A: the same model classifies each margin without
touching the context's cache. The verdict is not generated and parsed: the probability of YES against
NO is read after one pass, so it never fails to parse and is never sampled.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

import numpy as np

from wim_edge.engine.api import Context, Model
from wim_edge.engine.sampling import log_softmax
from wim_edge.errors import ModelFileError
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.prompts import Prompts


def verdict_tokens(model: Model, word: str) -> set[int]:
    """Tokens that can begin the word, in any case, with or without a space before."""
    forms = (word.upper(), word.capitalize(), word.lower())
    return {model.tokenize(space + form)[0] for form in forms for space in ("", " ")}


class Verdict:
    """The probability that a margin helps with the question, 0 to 1.

    The part of the prompt before the margin is prefilled once; each margin is appended to it and
    truncated again. A context manager: it holds a sequence of the context.
    """

    def __init__(self, model: Model, context: Context, chat: ChatFormat, prompts: Prompts, query: str) -> None:
        self._model = model
        self._preamble, self._after = prompt_parts(model, chat, prompts, query)
        yes, no = verdict_tokens(model, "yes"), verdict_tokens(model, "no")
        self._yes, self._no = sorted(yes - no), sorted(no - yes)
        if not self._yes or not self._no:
            raise ModelFileError("the model's tokenizer does not tell YES from NO", "Use another model.")
        self._sequence = context.sequence()

    def score(self, margin: str) -> float:
        """Raises Interrupted, ContextOverflowError."""
        sequence = self._sequence
        if not len(sequence):
            sequence.append(self._preamble)
            sequence.checkpoint()
        try:
            sequence.append([*self._model.tokenize(margin), *self._after])
            logprobs = log_softmax(sequence.logits)
        finally:
            sequence.truncate(min(len(sequence), len(self._preamble)))
        yes, no = (float(np.logaddexp.reduce(logprobs[ids])) for ids in (self._yes, self._no))
        return float(1 / (1 + np.exp(no - yes)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sequence.close()


def prompt_parts(model: Model, chat: ChatFormat, prompts: Prompts, query: str) -> tuple[list[int], list[int]]:
    """Tokens before and after the margin in the classification prompt."""
    before, after = prompts.classify(query)
    opening = chat.opening(model, prompts.system())
    return [*opening, *model.tokenize(before)], [*model.tokenize(after), *chat.after_user]
