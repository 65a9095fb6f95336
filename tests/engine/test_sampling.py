"""Greedy, and temperature with top-p and min-p."""

from __future__ import annotations

import numpy as np
import pytest

from wim_edge.engine.sampling import Sampler, log_softmax

LOGITS = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))


def drawn(sampler: Sampler, n: int = 2000) -> np.ndarray:
    return np.bincount([sampler(LOGITS) for _ in range(n)], minlength=4) / n


def test_log_softmax_is_normalized() -> None:
    assert np.exp(log_softmax(LOGITS * 3 + 1000)).sum() == pytest.approx(1)


def test_greedy() -> None:
    assert Sampler()(LOGITS) == 0
    assert Sampler()(-LOGITS) == 3


def test_temperature_one_draws_as_the_model_says() -> None:
    assert drawn(Sampler(1.0)) == pytest.approx(np.exp(LOGITS), abs=0.04)


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    assert set(np.flatnonzero(drawn(Sampler(1.0, top_p=0.7)))) == {0, 1}


def test_min_p_is_relative_to_the_best() -> None:
    assert set(np.flatnonzero(drawn(Sampler(1.0, min_p=0.25)))) == {0, 1, 2}


def test_a_seed_makes_it_reproducible() -> None:
    a, b, c = Sampler(1.0, seed=1), Sampler(1.0, seed=1), Sampler(1.0, seed=2)
    first = [a(LOGITS) for _ in range(50)]
    assert first == [b(LOGITS) for _ in range(50)]
    assert first != [c(LOGITS) for _ in range(50)]
