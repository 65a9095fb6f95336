"""A model of each kind of memory with a context, a text, and the logits of an undisturbed reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from wim_edge.engine.protocols import MemoryKind
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from wim_edge.engine.context import Sequence

STEPS = 4
TOLERANCE = 1e-3
"""The most that a logit may differ if cells are in another order, because sums round differently."""
TINY = {  # kind of memory, full-size cache, tokens of a step
    "tiny llama (attention)": (MemoryKind.ATTENTION, None, 256),
    "tiny gemma3 (window, full-size cache)": (MemoryKind.WINDOW, True, 256),
    "tiny gemma3 (window, window-sized cache)": (MemoryKind.WINDOW, False, 256),
    "tiny mamba (recurrent)": (MemoryKind.RECURRENT, None, 256),
    "tiny lfm2 (hybrid)": (MemoryKind.HYBRID, None, 256),
}
REAL = {
    "smollm2 (attention)": (MemoryKind.ATTENTION, None, 64),
    "gemma3 (window, full-size cache)": (MemoryKind.WINDOW, True, 160),  # past its window of 512
}
# Steps are multiples of 32: a processor sums cells in lanes, and cells in other lanes, as a fork's may be, round
# differently
on_real_models_too = pytest.mark.parametrize("case", TINY | REAL, indirect=True, ids=str)


class Case:
    """A model with a context, a text, and the logits after each step of an undisturbed reading."""

    def __init__(self, path: Path, text: str, kind: MemoryKind, swa_full: bool | None, size: int) -> None:
        from wim_edge.engine.model import Model  # here: not every test of the folder needs llama.cpp

        self.size = size
        """Tokens of a step."""
        self.model = Model(path, Settings(n_batch=size))
        assert self.model.info.memory is kind
        self.context = self.model.context(3072, swa_full=swa_full)
        self.tokens = [*self.model.bos_tokens, *self.model.tokenize(text)][: size * STEPS + 200]
        self.margin, self.n_decoded = (self.tokens[-60:], 12) if size == 256 else (self.tokens[-16:], 4)
        """The prompt of a margin, and the margin's tokens: fewer on a real model, which is slow."""
        self.keeps_layout = swa_full is not False
        with self.context.sequence() as sequence:
            self.expected = [self.step(sequence, i) for i in range(STEPS)]

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return equal(a, b) if self.keeps_layout else bool(np.abs(a - b).max() < TOLERANCE)

    def step(self, sequence: Sequence, i: int) -> np.ndarray:
        sequence.append(self.tokens[i * self.size : (i + 1) * self.size])
        return sequence.logits.copy()

    def write_margin(self, sequence: Sequence, n: int | None = None) -> list[int]:
        """Appends a prompt and decodes greedily."""
        sequence.append(self.margin)
        n = n or self.n_decoded
        for _ in range(n):
            sequence.append([int(sequence.logits.argmax())])
        return list(sequence.tokens[-n:])


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a == b).all())
