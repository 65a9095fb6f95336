"""Decoding: greedy, sampling (temperature, min-p, top-p, seed), grammars from JSON schemas (by llguidance), and the
beam search that finds runs of tokens in a segment (pointing) or in a library (recall)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Sequence as Seq
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.protocols import Context, Logits, Sequence
from wim_edge.errors import EngineError, InvalidRequestError, required
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from llguidance._lib import JsonCompileOptions

F = TypeVar("F", np.float32, np.float64)
Beam = TypeVar("Beam")
_OPTIONS: JsonCompileOptions = {"whitespace_flexible": True, "whitespace_pattern": r"(?: |\n {0,16})"}
"""Options of llguidance that limit the white space between JSON values: small models may repeat white space forever."""


def log_softmax(logits: NDArray[F]) -> NDArray[F]:
    """Returns log-probabilities over the last axis, in the shape of ``logits``."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: NDArray[F] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def log_likelihoods(
    context: Context, sequence: Sequence, texts: Seq[Seq[int]], at_once: int, ends: Seq[int] = ()
) -> list[tuple[Logits, float]]:
    """Returns, for each text (token ids), the log-probabilities of its tokens after ``sequence``, float32 (tokens,),
    and of one of the tokens ``ends`` after the text; in nats. Leaves the sequence unchanged. Evaluates ``at_once``
    texts together, each on a fork. Raises ContextOverflowError, Interrupted."""
    first, found = log_softmax(sequence.logits)[None], []
    for at in range(0, len(texts), at_once):
        some = texts[at : at + at_once]
        with ExitStack() as stack:
            forks = [stack.enter_context(sequence.fork()) for _ in some]
            rows = context.append_each(list(zip(forks, some, strict=True)), all_rows=True)
        for tokens in some:
            own, rows = np.concatenate([first, log_softmax(rows[: len(tokens)])]), rows[len(tokens) :]
            end = float(np.logaddexp.reduce(own[-1, list(ends)]))
            found.append((own[np.arange(len(tokens)), list(tokens)], end))
    return found


class Sampler:
    """A sampler of the next token: by top-p, then min-p, then temperature, in the order of llama.cpp's default chain.
    Temperature 0 takes the likeliest token. The same seed gives the same choices."""

    def __init__(
        self, temperature: float = Settings.temperature, top_p: float = Settings.top_p, min_p: float = Settings.min_p,
        seed: int = Settings.seed,
    ) -> None:  # fmt: skip
        self.temperature, self.top_p, self.min_p = temperature, top_p, min_p
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Logits) -> int:
        """Returns the id of the chosen token. ``logits`` has the shape (n_vocab,)."""
        if self.temperature == 0:
            return int(np.argmax(logits))
        order = np.argsort(-logits, kind="stable")
        probabilities = np.exp(log_softmax(logits[order].astype(np.float64)))
        keep = np.cumsum(probabilities) - probabilities < self.top_p
        keep &= probabilities >= self.min_p * probabilities[0]
        keep[0] = True
        kept = order[keep]
        weights = np.exp(log_softmax(logits[kept].astype(np.float64) / self.temperature))
        return int(self._random.choice(kept, p=weights / weights.sum()))


@dataclass(frozen=True)
class Step(Generic[Beam]):
    """A step of a beam search: ``beam`` extends a live beam (one that was just evaluated) by one or more ``tokens``."""

    beam: Beam
    parent: int
    """The index of the live beam that this beam extends."""
    tokens: Seq[int]


def search_beams(
    context: Context, prompt: Sequence, first: Beam, advance: Callable[[list[tuple[Beam, Logits]]], list[Step[Beam]]]
) -> int:
    """Runs a beam search until ``advance`` returns no steps; returns the number of evaluated tokens. Each live beam has
    its own sequence, forked from ``prompt``. ``first``: the beam without tokens. ``advance``: returns the steps that
    extend live beams. It gets pairs (live beam, logits after each token of the beam's last step, (tokens, n_vocab)); at
    first (``first``, logits after the prompt, (1, n_vocab)). Raises Interrupted, ContextOverflowError."""
    spent = 0
    with ExitStack() as stack:
        branches = [stack.enter_context(prompt.fork())]
        live = [(first, prompt.logits[None])]
        while steps := advance(live):
            parents = [branches[step.parent] for step in steps]
            for one in branches:
                if one not in parents:
                    one.close()
            # The last child of a parent gets the parent's sequence, others get a fork
            branches = [one if one not in parents[at + 1 :] else stack.enter_context(one.fork())
                        for at, one in enumerate(parents)]  # fmt: skip
            parts = [(branch, step.tokens) for branch, step in zip(branches, steps, strict=True)]
            rows, live = context.append_each(parts, all_rows=True), []
            for step in steps:
                live.append((step.beam, rows[: len(step.tokens)]))
                rows = rows[len(step.tokens) :]
                spent += len(step.tokens)
    return spent


def open_vocabulary(vocab: Any, eog_tokens: list[int]) -> LLTokenizer:
    """Returns a model's vocabulary as llguidance's tokenizer. Raises InvalidRequestError if llguidance is missing."""
    with required("a JSON schema needs the package llguidance", "pip install 'wim-edge[server]'"):
        from llguidance.llamacpp import lltokenizer_from_vocab
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # llguidance calls a deprecated function of llama.cpp
        return lltokenizer_from_vocab(vocab, eos_token=eog_tokens)


class Grammar:
    """A grammar that allows only JSON that fits ``schema``, and no token id in ``hidden`` (see `protocols.Grammar`).
    The constructor raises InvalidRequestError if the schema is too large or has an unsupported keyword."""

    def __init__(self, vocabulary: LLTokenizer, schema: object, hidden: Iterable[int]) -> None:
        from llguidance import LLMatcher
        from llguidance.numpy import allocate_token_bitmask

        try:
            text = LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=_OPTIONS)
        except (ValueError, RecursionError) as error:
            raise _refused(str(error)) from error
        self._matcher = LLMatcher(vocabulary, text, log_level=0)
        if self._matcher.is_error():
            raise _refused(self._matcher.get_error())
        self._mask = allocate_token_bitmask(1, vocabulary.vocab_size)
        self._hidden = [*hidden]

    def allowed(self, logits: Logits) -> Logits:
        from llguidance.numpy import apply_token_bitmask_inplace, fill_next_token_bitmask

        allowed = np.array(logits)
        fill_next_token_bitmask(self._matcher, self._mask)
        apply_token_bitmask_inplace(allowed, self._mask)
        allowed[self._hidden] = -np.inf
        if not np.isfinite(allowed).any():
            raise EngineError("the model has no token that continues the requested JSON", "Use another model.")
        return allowed

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"the JSON schema is not supported: {why.strip()[:300]}", "Ask for a simpler form.")
