"""The division of tokens into batches."""

from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from wim_edge.engine.batches import batches, grouped


@given(st.integers(0, 2000), st.integers(3, 600))
def test_all_tokens_in_order_none_alone(n: int, size: int) -> None:
    cut = batches(n, size)
    assert [token for start, end in cut for token in range(start, end)] == list(range(n))
    lengths = [end - start for start, end in cut]
    assert all(2 <= length <= size for length in lengths) or n == 1
    assert len(cut) == -(-n // size)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9))), st.integers(1, 12), st.integers(1, 12))
def test_groups_keep_the_order_and_both_limits(parts: list[tuple[int, int]], most: int, most_others: int) -> None:
    groups = list(grouped(parts, lambda part: part, most, most_others))
    assert [part for group in groups for part in group] == parts
    for group in groups:
        costs, others = zip(*group, strict=True)
        assert len(group) == 1 or (sum(costs) <= most and sum(others) <= most_others)
    assert all(
        sum(cost for cost, _ in group) + cost > most or sum(other for _, other in group) + other > most_others
        for group, ((cost, other), *_) in itertools.pairwise(groups)
    )
