"""Batches for llama.cpp: functions that divide tokens, group parts, fill a llama_batch, and prefill a sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence as Seq
from typing import Any, TypeVar

from wim_edge.engine.protocols import Sequence

T = TypeVar("T")
N_OUTPUTS = 32
"""The maximum number of rows of logits in a batch: each row takes n_vocab floats in the compute buffer."""


def batches(n: int, size: int) -> list[tuple[int, int]]:
    """Returns (start, end) of each batch, end exclusive, if ``n`` tokens are divided into batches of at most ``size``.
    The last batch gets at least two tokens where possible, so that results do not depend on ``size``: for a single
    token, llama.cpp uses other code with other rounding (docs/robustness.md)."""
    edges = [*range(0, n, size), n]
    if n > size > 2 and n % size == 1:
        edges[-2] -= 1
    return list(itertools.pairwise(edges))


def grouped(
    parts: Iterable[T], costs: Callable[[T], tuple[int, int]], most: int, most_others: int
) -> Iterator[list[T]]:
    """Yields groups of consecutive parts. ``costs`` returns two costs of a part; in a group, the first ones add up to
    at most ``most``, the second ones to at most ``most_others``. A part that exceeds a limit is alone in its group."""
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
    """Fills a llama_batch with parts (sequence id, first position, tokens, n). The last n tokens of a part need logits;
    returns the indices of all these tokens in the batch."""
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
    """Appends tokens to a sequence and returns the sequence; closes the sequence if the append fails."""
    try:
        sequence.append(tokens)
    except BaseException:
        sequence.close()
        raise
    return sequence
