"""What a model's entry says of it."""

from __future__ import annotations

from collections.abc import Callable

from wim_edge.catalog import ModelEntry


def test_memory_counts_file_cache_and_working_space(make_entry: Callable[..., ModelEntry]) -> None:
    entry = make_entry(bytes=1000, context=100, kv_bytes_per_token=10)
    assert entry.memory_bytes() == 1000 + 100 * 10 + 200 * 1024**2
    assert entry.memory_bytes(2000) == 2000 + 100 * 10 + 200 * 1024**2


def test_the_judge_s_file_and_cache_count_beside_a_writer(make_entry: Callable[..., ModelEntry]) -> None:
    entry, judge = (make_entry(bytes=size, context=100, kv_bytes_per_token=10) for size in (1000, 300))
    assert entry.memory_bytes(judge=judge) == entry.memory_bytes() + 300 + 100 * 10


def test_who_writes(make_entry: Callable[..., ModelEntry]) -> None:
    assert make_entry().writes
    assert not make_entry(embeds=True).writes
    assert not make_entry(settings={"prose": False}).writes
