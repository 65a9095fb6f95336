"""Beams reuse the sequences of their parents, fork as little as possible and close every fork."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

from wim_edge.engine.beams import Step, _branches, search
from wim_edge.engine.protocols import Logits
from wim_edge.testing import FakeModel


def test_the_last_child_gets_the_parents_sequence_and_the_others_forks() -> None:
    model = FakeModel()
    context = model.context(100, n_sequences=4)  # no more sequences at once than live beams
    first, second, third = (context.sequence() for _ in range(3))
    for one, letter in ((first, "a"), (second, "b"), (third, "c")):
        one.append(model.tokenize(letter))
    with ExitStack() as stack:
        branches = _branches([first, second, third], [first, third, first, first], stack)
        assert [model.text(one.tokens) for one in branches] == ["a", "c", "a", "a"]
        assert (branches[1], branches[3]) == (third, first)
        assert len({id(one) for one in branches}) == 4
        assert second.id not in context.live  # it has no children
        branches[0].append(model.tokenize("d"))
        assert [model.text(one.tokens) for one in branches] == ["ad", "c", "a", "a"]
    assert set(context.live) == {first.id, third.id}  # the forks are closed
    with ExitStack() as stack:
        assert _branches([first, third], [], stack) == []
    assert not context.live


def test_every_beam_gets_the_logits_after_each_of_its_tokens() -> None:
    model = FakeModel()
    model.tokenize("tokens to number")
    context = model.context(100)
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

    assert search(context, prompt, none, advance) == 3 + 6
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
        search(context, prompt, "", advance)
    assert set(context.live) == {prompt.id}
