"""Seconds by stage: what is inside a stage counts, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wim_edge.reading import timings
from wim_edge.reading.timings import Timings


class Clock:
    """Stands still but for what is spent."""

    def __init__(self) -> None:
        self.now = 100.0

    def spend(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timings.time, "perf_counter", lambda: clock.now)
    return clock


def test_a_stage_adds_up_and_the_total_runs_on(clock: Clock) -> None:
    found = Timings()
    for seconds in (1.0, 0.25061):
        with found.stage("prefill"):
            clock.spend(seconds)
        clock.spend(2.0)
    assert found.seconds() == {"prefill": 1.251, "total": 5.251}  # to the millisecond


def test_a_stage_that_fails_counts(clock: Clock) -> None:
    found = Timings()

    def fail() -> None:
        clock.spend(0.5)
        raise KeyError

    with pytest.raises(KeyError), found.stage("load"):
        fail()
    assert found.seconds()["load"] == 0.5


def test_of_an_iterator_the_consumers_time_is_not_counted(clock: Clock) -> None:
    def items() -> Iterator[int]:
        for number in range(3):
            clock.spend(0.125)
            yield number
        clock.spend(1.0)  # what it does at its end counts too

    found, seen = Timings(), []
    for number in found.each("read", items()):
        seen.append(number)
        clock.spend(10.0)
    assert seen == [0, 1, 2]
    assert found.seconds()["read"] == 1.375


def test_the_most_memory_never_falls() -> None:
    before = timings.peak_rss_bytes()
    block = bytearray(32 << 20)
    block[::4096] = b"x" * len(block[::4096])
    after = timings.peak_rss_bytes()
    del block
    assert 1 << 20 < before <= after <= timings.peak_rss_bytes()
