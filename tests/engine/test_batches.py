"""The division of tokens into batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wim_edge.engine.batches import batches


@given(st.integers(0, 2000), st.integers(3, 600))
def test_all_tokens_in_order_none_alone(n: int, size: int) -> None:
    cut = batches(n, size)
    assert [token for start, end in cut for token in range(start, end)] == list(range(n))
    lengths = [end - start for start, end in cut]
    assert all(2 <= length <= size for length in lengths) or n == 1
    assert len(cut) == -(-n // size)
