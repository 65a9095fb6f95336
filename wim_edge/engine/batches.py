"""How many tokens are cut into batches."""

from __future__ import annotations

import itertools


def batches(n: int, size: int) -> list[tuple[int, int]]:
    """Where each batch of at most ``size`` of ``n`` tokens starts and ends.

    A token is not left alone at the end: llama.cpp computes a batch of one by other code than all larger ones, which
    are the same to the last bit (docs/robustness.md). So what is computed does not depend on ``size``.
    """
    edges = [*range(0, n, size), n]
    if n > size > 2 and n % size == 1:
        edges[-2] -= 1
    return list(itertools.pairwise(edges))
