"""The cutting of many tokens into batches."""

from __future__ import annotations

import itertools


def batches(n: int, size: int) -> list[tuple[int, int]]:
    """Returns the start and the end of each batch of at most ``size`` of ``n`` tokens.

    No token is left alone at the end: llama.cpp computes a batch of one by other code than all larger ones, whose
    results are the same to the last bit (docs/robustness.md). So results do not depend on ``size``.
    """
    edges = [*range(0, n, size), n]
    if n > size > 2 and n % size == 1:
        edges[-2] -= 1
    return list(itertools.pairwise(edges))
