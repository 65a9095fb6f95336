"""Tokens that may come next, where every run of tokens has to occur in a text, and the places where it does.

MindRef (arXiv 2402.17010, section 3) constrains titles by a trie and passages by an FM-index. Here one structure
serves both: places of the text in the order of the tokens that stand there, a sparse suffix array: the
beginnings of titles (a trie), of sentences (passages), of the sentences of some documents (theirs). A run of tokens is
then a range of neighbours, the tokens that may follow it are the steps inside that range, and extending it narrows
the range. The steps in the few ranges of more than a thousand places are kept once they have been looked up.

(An FM-index takes less room, but gives the successors of a run one alphabet at a time; the package `fm-index` does
not give them at all.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LONGEST = 64
"""The most tokens of a run."""
_MANY = 1024  # places: the steps of larger ranges are kept

Ints = NDArray[Any]
"""Integers of an unsigned type: token ids, or places in a text."""


def end_of(tokens: Ints) -> int:
    """Returns the token that stands after every title and body, and that no run goes beyond: the type's last number."""
    return int(np.iinfo(tokens.dtype).max)


@dataclass(frozen=True)
class TokenRange:
    """A run of ``length`` tokens that stands at places ``first`` to ``last`` - 1 of the order."""

    first: int
    last: int
    length: int

    def __len__(self) -> int:
        """Counts the places where the run occurs."""
        return self.last - self.first


class SuffixArray:
    """The runs of tokens that begin at some places of a text.

    Args:
        tokens: the text, (n,), an end after each part (see `end_of`). May be memory-mapped, as may the order.
        order: places (indices into ``tokens``), sorted by the `LONGEST` tokens that stand there.
    """

    def __init__(self, tokens: Ints, order: Ints) -> None:
        self.tokens, self.order, self.end = tokens, order, end_of(tokens)
        self.all = TokenRange(0, len(order), 0)
        """The empty run, which begins everywhere."""
        self._kept: dict[TokenRange, tuple[Ints, Ints]] = {}

    def inside(self, *spans: tuple[int, int]) -> SuffixArray:
        """Returns the runs that begin inside these spans ``[start, end)`` of the text."""
        chosen = np.zeros(len(self.order), bool)
        for start, end in spans:
            chosen |= (self.order >= start) & (self.order < end)
        return SuffixArray(self.tokens, self.order[chosen])

    def successors(self, run: TokenRange) -> tuple[Ints, Ints]:
        """Returns the tokens that follow a run somewhere, ascending (the end last, if it may end): (k,); and where the
        places of each begin in the order, with the end of the last: (k + 1,)."""
        found = self._kept.get(run)
        if found is None:
            found = self._steps(run)
            if len(run) > _MANY:
                self._kept[run] = found
        return found

    def find(self, tokens: list[int]) -> TokenRange | None:
        """Returns the run of these tokens; None where it occurs nowhere."""
        run = self.all
        for token in tokens:
            following, edges = self.successors(run)
            at = int(np.searchsorted(following, token))
            if at == len(following) or following[at] != token:
                return None
            run = TokenRange(int(edges[at]), int(edges[at + 1]), run.length + 1)
        return run

    def places(self, run: TokenRange) -> Ints:
        """Returns the places where a run stands in the text, ascending."""
        return np.sort(self.order[run.first : run.last])

    def _steps(self, run: TokenRange) -> tuple[Ints, Ints]:
        if run.length >= LONGEST and len(run) > 1:
            raise ValueError(f"a run of more than {LONGEST} tokens")
        following = self.tokens[self.order[run.first : run.last].astype(np.int64) + run.length]
        steps = np.flatnonzero(following[1:] != following[:-1]) + 1
        starts = np.concatenate([np.zeros(min(1, len(following)), steps.dtype), steps])
        return following[starts], np.append(starts, len(following)) + run.first


def sorted_places(tokens: Ints, places: Ints) -> Ints:
    """Returns the places by the `LONGEST` tokens there, uint32; needs 64 tokens of memory for each place meanwhile."""
    if not len(places):
        return np.zeros(0, np.uint32)
    places = np.asarray(places, np.uint32)
    big_endian = tokens.dtype.newbyteorder(">")
    padded = np.concatenate([tokens, np.full(LONGEST, end_of(tokens), tokens.dtype)]).astype(big_endian)
    keys = np.lib.stride_tricks.sliding_window_view(padded, LONGEST)[places]
    # As byte strings: their order is that of the tokens, and numpy sorts them at once
    return places[np.argsort(keys.view(f"S{LONGEST * big_endian.itemsize}").ravel(), kind="stable")]
