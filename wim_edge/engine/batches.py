"""The division of tokens into batches, and of parts of sequences into llama.cpp's batches; the first prefill."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Seq
from typing import Any, TypeVar

from wim_edge.engine.protocols import Sequence

T = TypeVar("T")
N_OUTPUTS = 32
"""The most rows of logits of a batch: each costs n_vocab floats in the compute buffer."""


def batches(n: int, size: int) -> list[tuple[int, int]]:
    """Returns the start and the end of each batch of at most ``size`` of ``n`` tokens.

    No token is alone in the last batch: llama.cpp computes a batch of one by other code, with other rounding, than
    all larger ones (docs/robustness.md). So results do not depend on ``size``.
    """
    edges = [*range(0, n, size), n]
    if n > size > 2 and n % size == 1:
        edges[-2] -= 1
    return list(itertools.pairwise(edges))


def grouped(
    parts: Iterable[T], costs: Callable[[T], tuple[int, int]], most: int, most_others: int
) -> Iterator[list[T]]:
    """Yields consecutive parts, as many as fit into ``most`` of their first cost and ``most_others`` of their second.
    A part that is too large for any group comes alone."""
    group: list[T] = []
    used = others = 0
    for part in parts:
        cost, other = costs(part)
        if group and (used + cost > most or others + other > most_others):
            yield group
            group, used, others = [], 0, 0
        group.append(part)
        used, others = used + cost, others + other
    if group:
        yield group


def fill(batch: Any, parts: Seq[tuple[int, int, Seq[int], int]]) -> list[int]:
    """Fills a llama_batch with (sequence id, position, tokens, rows at the end); returns the indices of these rows."""
    n, wanted = 0, []
    for seq_id, position, tokens, rows in parts:
        first_row = len(tokens) - rows
        for index, token in enumerate(tokens):
            batch.token[n], batch.pos[n] = token, position + index
            batch.n_seq_id[n], batch.seq_id[n][0] = 1, seq_id
            batch.logits[n] = index >= first_row
            if index >= first_row:
                wanted.append(n)
            n += 1
    batch.n_tokens = n
    return wanted


def prefilled(sequence: Sequence, tokens: Seq[int]) -> Sequence:
    """Appends tokens to a sequence and returns it; closes it if that fails."""
    try:
        sequence.append(tokens)
    except BaseException:
        sequence.close()
        raise
    return sequence
