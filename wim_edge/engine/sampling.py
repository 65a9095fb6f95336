"""The choice of a token from logits: greedy, or by temperature, min-p and top-p with a seed."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.protocols import Context, Logits, Sequence
from wim_edge.settings import Settings

F = TypeVar("F", np.float32, np.float64)


def log_softmax(logits: NDArray[F]) -> NDArray[F]:
    """Returns log-probabilities over the last axis, in the shape of ``logits``."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    result: NDArray[F] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result


def log_likelihoods(context: Context, parts: Seq[tuple[Sequence, Seq[int]]]) -> list[float]:
    """Appends tokens to sequences; returns log P(tokens | sequence) for each, in nats. Raises ContextOverflowError,
    Interrupted."""
    before = [sequence.logits for sequence, _ in parts]
    rows, found, begin = context.append_each(parts, all_rows=True), [], 0
    for first, (_, tokens) in zip(before, parts, strict=True):
        logits = np.concatenate([first[None], rows[begin : begin + len(tokens) - 1]])
        found.append(float(log_softmax(logits)[np.arange(len(tokens)), list(tokens)].sum()))
        begin += len(tokens)
    return found


class Sampler:
    """Chooses the next token, in the order of llama.cpp's default chain: top-p, min-p, temperature. Temperature 0 is
    greedy; the same seed gives the same choices."""

    def __init__(
        self, temperature: float = Settings.temperature, top_p: float = Settings.top_p, min_p: float = Settings.min_p,
        seed: int = Settings.seed,
    ) -> None:  # fmt: skip
        self.temperature, self.top_p, self.min_p = temperature, top_p, min_p
        self._random = np.random.default_rng(seed)

    def __call__(self, logits: Logits) -> int:
        """Returns the chosen token id; ``logits`` is (n_vocab,)."""
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
