"""Which tokens may come next, where every run of tokens has to occur in a text, and where it does.

MindRef (arXiv 2402.17010, section 3) constrains titles by a trie and passages by an FM-index. Here one structure
serves both: places of the text in the order of the tokens that follow them, a suffix array (all places: passages)
or a part of it (the beginnings of titles: a trie). A run of tokens is then a range of neighbours, the tokens that
may follow it are the steps inside that range, and extending it narrows the range. What the few ranges of more
than a thousand places hold is kept, so that no step looks at more places than that.

(An FM-index takes less room, but gives the successors of a run one alphabet at a time; the package `fm-index` does
not give them at all. On 1.3 million tokens a step takes 25 microseconds, as on a tenth of them; sorting them
takes 3.6 seconds.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

END = -1
"""Stands after every title or passage; no run goes beyond it."""
LONGEST = 64
"""Tokens of a run at most."""
_MANY = 1024  # places: the steps of larger ranges are kept

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Run:
    """A run of ``length`` tokens that stands at places ``first`` to ``last`` - 1 of the order."""

    first: int
    last: int
    length: int

    def __len__(self) -> int:
        """How often it occurs."""
        return self.last - self.first


class Runs:
    """The runs of tokens that begin at some places of a text.

    Args:
        tokens: the text, int32 (n,): token ids, `END` after each part.
        order: places (indices into ``tokens``), sorted by the `LONGEST` tokens that stand there, int32.
    """

    def __init__(self, tokens: Ints, order: Ints) -> None:
        self.tokens, self.order = tokens, order
        self._padded = np.concatenate([tokens, np.full(LONGEST, END, np.int32)])
        self._kept: dict[Run, tuple[Ints, Ints]] = {}
        self.all = Run(0, len(order), 0)
        """The empty run, which begins everywhere."""
        self._keep()

    @classmethod
    def of(cls, tokens: Ints, places: Ints | None = None) -> Runs:
        """Sort the places (None: all but the ends). ``tokens`` must end with `END`."""
        if len(tokens) and tokens[-1] != END:
            raise ValueError("the text must end with END")
        chosen = np.zeros(len(tokens), bool)
        chosen[tokens != END if places is None else places] = True
        order = _sorted(tokens)
        return cls(tokens, order[chosen[order]])

    def successors(self, run: Run) -> tuple[Ints, Ints]:
        """The tokens that follow a run somewhere, ascending (`END` first, if it may end): int32 (k,); and where
        the places of each begin in the order, with the end of the last: int32 (k + 1,)."""
        return self._kept.get(run) or self._steps(run)

    def extended(self, run: Run, token: int) -> Run | None:
        """The run with one token more; None where it occurs nowhere."""
        tokens, edges = self.successors(run)
        at = int(np.searchsorted(tokens, token))
        if at == len(tokens) or tokens[at] != token:
            return None
        return Run(int(edges[at]), int(edges[at + 1]), run.length + 1)

    def found(self, tokens: list[int]) -> Run | None:
        """The run of these tokens; None where it occurs nowhere."""
        run: Run | None = self.all
        for token in tokens:
            run = self.extended(run, token) if run is not None else None
        return run

    def places(self, run: Run) -> Ints:
        """Where it stands in the text, ascending; int32."""
        return np.sort(self.order[run.first : run.last])

    def _steps(self, run: Run) -> tuple[Ints, Ints]:
        if run.length >= LONGEST:
            raise ValueError(f"a run of more than {LONGEST} tokens")
        following = self._padded[self.order[run.first : run.last] + run.length]
        steps = np.flatnonzero(following[1:] != following[:-1]) + 1
        starts = np.concatenate([np.zeros(min(1, len(following)), steps.dtype), steps])
        return following[starts], (np.append(starts, len(following)) + run.first).astype(np.int32)

    def _keep(self) -> None:
        waiting = [self.all]
        while waiting:
            run = waiting.pop()
            tokens, edges = self._kept[run] = self._steps(run)
            large = np.flatnonzero((np.diff(edges) > _MANY) & (tokens != END))
            if run.length + 1 < LONGEST:
                waiting += [Run(int(edges[at]), int(edges[at + 1]), run.length + 1) for at in large]


def _sorted(tokens: Ints) -> Ints:
    """All places, by the `LONGEST` tokens that stand there: prefix doubling (Manber and Myers 1993)."""
    n, width = len(tokens), 1
    _, rank = np.unique(tokens, return_inverse=True)
    rank = rank.astype(np.int64) + 1
    order = np.argsort(rank, kind="stable")
    while width < LONGEST and n and rank.max() < n:
        behind = np.zeros(n, np.int64)
        behind[: n - width] = rank[width:]
        key = rank * (n + 2) + behind
        order = np.argsort(key, kind="stable")
        ascending = key[order]
        rank[order] = np.cumsum(np.append(True, ascending[1:] != ascending[:-1]))
        width *= 2
    return order.astype(np.int32)
