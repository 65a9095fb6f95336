"""Greedy, temperature with top-p and min-p, and beams, which reuse their parents' sequences and close every fork."""

from __future__ import annotations

import numpy as np
import pytest

from wim_edge.engine.protocols import Logits
from wim_edge.engine.sampling import Sampler, Step, log_softmax, search_beams
from wim_edge.testing import FakeModel

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


def test_top_p_keeps_the_smallest_set_that_reaches_it_and_min_p_is_relative_to_the_best() -> None:
    assert set(np.flatnonzero(drawn(Sampler(1.0, top_p=0.7)))) == {0, 1}
    assert set(np.flatnonzero(drawn(Sampler(1.0, min_p=0.25)))) == {0, 1, 2}


def test_a_seed_makes_it_reproducible() -> None:
    a, b, c = Sampler(1.0, seed=1), Sampler(1.0, seed=1), Sampler(1.0, seed=2)
    first = [a(LOGITS) for _ in range(50)]
    assert first == [b(LOGITS) for _ in range(50)]
    assert first != [c(LOGITS) for _ in range(50)]


def test_every_beam_gets_the_logits_after_each_of_its_tokens() -> None:
    model = FakeModel()
    model.tokenize("tokens to number")
    context = model.context(100, n_sequences=6)  # the prompt, four live beams, and one for comparison
    prompt = context.sequence()
    prompt.append([1, 2])
    none: tuple[int, ...] = ()
    seen: list[list[tuple[int, ...]]] = []

    def advance(live: list[tuple[tuple[int, ...], Logits]]) -> list[Step[tuple[int, ...]]]:
        seen.append([beam for beam, _ in live])
        for beam, rows in live:
            with context.sequence() as alone:
                expected = alone.append([1, 2, *beam])
            np.testing.assert_array_equal(rows[-1:], expected)
            assert len(rows) == (2 if beam[-1:] == (5,) else 1)
        if len(seen) > 2:
            return []
        return [Step((*beam, *more), at, more) for at, (beam, _) in enumerate(live) for more in ((3,), (4, 5))]

    assert search_beams(context, prompt, none, advance) == 3 + 6
    assert seen == [[()], [(3,), (4, 5)], [(3, 3), (3, 4, 5), (4, 5, 3), (4, 5, 4, 5)]]
    assert (prompt.tokens, set(context.live)) == ([1, 2], {prompt.id})


def test_a_search_that_fails_leaves_no_branch() -> None:
    model = FakeModel()
    model.tokenize("tokens to number")
    context = model.context(100)
    prompt = context.sequence()
    prompt.append([1])

    def advance(live: list[tuple[str, Logits]]) -> list[Step[str]]:
        if live[0][0]:
            raise KeyError
        return [Step("a", 0, [2]), Step("b", 0, [3])]

    with pytest.raises(KeyError):
        search_beams(context, prompt, "", advance)
    assert set(context.live) == {prompt.id}
