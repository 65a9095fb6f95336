"""Completions: the model continues a conversation or a text, without documents. The last prompt and its answer stay in
the cache, and the next prompt reuses the tokens with which it begins like them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence as Seq
from typing import Any

import numpy as np

from wim_edge.engine.batches import batches
from wim_edge.engine.protocols import Context, Grammar, Interrupted, Logits, Model, Sequence
from wim_edge.engine.sampling import Sampler, log_softmax
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.library import common_prefix_length
from wim_edge.reading import events
from wim_edge.reading.chat import Message, conversation
from wim_edge.reading.control import Control
from wim_edge.reading.generate import Generation
from wim_edge.reading.timings import Timings
from wim_edge.settings import Settings

_STEP = 1024  # a context's size is a multiple of this, so that not every turn needs a new context
_BASE_STOPS = ("\nUser:", "\nSystem:")


class Completer:
    """Completes prompts. Holds a context with the last prompt and its answer; `close` frees the context."""

    def __init__(self, model: Model, variables: Mapping[str, Any]) -> None:
        self._model, self._variables = model, variables
        self._context: Context | None = None
        self._sequence: Sequence | None = None

    def tokens(self, prompt: str | Seq[Message]) -> list[int]:
        """Returns a prompt's tokens. Raises InvalidRequestError for an empty prompt, and what `conversation` raises."""
        if isinstance(prompt, str):
            tokens = [*self._model.bos_tokens, *self._model.tokenize(prompt)]
        else:
            tokens = conversation(self._model, prompt, self._variables)
        if not tokens:
            raise InvalidRequestError("the prompt is empty", "Pass some text.")
        return tokens

    def open(self, tokens: Seq[int], settings: Settings) -> Context:
        """Returns a context with room for a prompt and its answer. Raises ContextOverflowError, MemoryBudgetError."""
        need, most = len(tokens) + settings.answer_tokens, self._model.info.n_ctx_train
        if need > most:
            raise ContextOverflowError(
                f"the prompt takes {len(tokens):,} tokens and the answer up to {settings.answer_tokens:,}, the model "
                f"has {most:,}", "Shorten it, or pass it as a document.",
            )  # fmt: skip
        if self._context is None or self._context.n_ctx < need:
            self.close()
            self._context = self._model.context(min(-(-need // _STEP) * _STEP, most))
            self._sequence = self._context.sequence()
        return self._context

    def run(
        self, tokens: Seq[int], settings: Settings, control: Control, top: int | None, grammar: Grammar | None,
        *, chat: bool,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Yields the events of a completion in the context that `open` returned. ``top``: how many of the likeliest
        tokens to report at each position; None: no log-probabilities. ``grammar``: restricts the text, which repeats
        then don't end. ``chat``: True if the prompt is a conversation."""
        clock, model, context, sequence = Timings(), self._model, self._context, self._sequence
        assert context is not None
        assert sequence is not None
        # The last token is always evaluated: its logits are needed
        cached = min(common_prefix_length(sequence.tokens, tokens), len(tokens) - 1)
        sequence.truncate(cached)
        sampler = _Recorder(model, settings, top, grammar)
        base = _BASE_STOPS if chat and model.info.chat_template is None else ()
        stops = (*settings.stop, *base)
        generation = Generation(
            model, sequence, sampler, settings.answer_tokens, stops, strip=chat, straight=True,
            may_loop=grammar is not None,
        )  # fmt: skip
        reason: events.FinishReason = "cancelled"
        try:
            yield events.ReadingProgress(cached, len(tokens))
            for start, end in batches(len(tokens) - cached, context.n_batch):
                with clock.stage("prefill"):
                    sequence.append(tokens[cached + start : cached + end])
                yield events.ReadingProgress(len(sequence), len(tokens))
            control.begin_answer()
            for piece in clock.each("answer", generation.pieces()):
                yield events.CompletionDelta(piece, sampler.taken(len(generation.text)))
            reason = generation.finish_reason
        except Interrupted:
            pass
        yield events.CompletionFinished(
            generation.text, reason, model.info.name, len(tokens), cached, generation.n_tokens, clock.seconds()
        )

    def close(self) -> None:
        if self._context is not None:
            self._context.close()
            self._context = self._sequence = None


class _Recorder(Sampler):
    """A sampler that takes only tokens allowed by a grammar, if given. Records log-probabilities as without grammar."""

    def __init__(self, model: Model, settings: Settings, top: int | None, grammar: Grammar | None) -> None:
        super().__init__(settings.temperature, settings.top_p, settings.min_p, settings.seed)
        self._model, self._top, self._grammar = model, top, grammar
        self._found: list[events.TokenLogprob] = []
        self._chars = 0  # characters of the tokens that `taken` has returned

    def __call__(self, logits: Logits) -> int:
        grammar = self._grammar
        token = super().__call__(grammar.allowed(logits) if grammar else logits)
        if grammar and not self._model.is_eog(token):
            grammar.accept(token)
        if self._top is not None and not self._model.is_eog(token):
            logprobs = log_softmax(logits)
            best = np.argsort(-logprobs, kind="stable")[: self._top].tolist()
            top = tuple((*self._piece(one), float(logprobs[one])) for one in best)
            self._found.append(events.TokenLogprob(*self._piece(token), float(logprobs[token]), top))
        return token

    def taken(self, chars: int) -> tuple[events.TokenLogprob, ...]:
        """Returns the recorded tokens that begin in the text's first ``chars`` characters, each token only once."""
        taken = []
        while self._found and self._chars < chars:
            taken.append(self._found.pop(0))
            self._chars += len(taken[-1].text)
        return tuple(taken)

    def _piece(self, token: int) -> tuple[str, tuple[int, ...]]:
        piece = self._model.piece(token)
        return piece.decode("utf-8", "replace"), tuple(piece)
