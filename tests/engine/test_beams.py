"""Beams go on in sequences of their parents: as few forks as children ask for, and none is left."""

from __future__ import annotations

from contextlib import ExitStack

from wim_edge.engine.beams import hand_on
from wim_edge.testing import FakeModel


def test_the_last_child_has_the_parents_own_and_the_others_forks() -> None:
    model = FakeModel()
    context = model.context(100)
    first, second, third = (context.sequence() for _ in range(3))
    for one, letter in ((first, "a"), (second, "b"), (third, "c")):
        one.append(model.tokenize(letter))
    with ExitStack() as stack:
        handed = hand_on([first, second, third], [first, third, first, first], stack)
        assert [model.text(one.tokens) for one in handed] == ["a", "c", "a", "a"]
        assert (handed[1], handed[3]) == (third, first)
        assert len({id(one) for one in handed}) == 4
        assert second.id not in context.live  # it has no children
        assert len(context.live) == 4
        handed[0].append(model.tokenize("d"))
        assert [model.text(one.tokens) for one in handed] == ["ad", "c", "a", "a"]
    assert set(context.live) == {first.id, third.id}  # the forks are closed


def test_where_no_beam_goes_on_all_are_closed() -> None:
    context = FakeModel().context(100)
    live = [context.sequence(), context.sequence()]
    with ExitStack() as stack:
        assert hand_on(live, [], stack) == []
    assert not context.live


def test_no_more_sequences_stand_at_once_than_beams_go_on() -> None:
    model = FakeModel()
    context = model.context(100)
    live = [context.sequence() for _ in range(4)]
    live[0].append(model.tokenize("a"))
    most: list[int] = []
    take = context.sequence

    def counting() -> object:
        made = take()
        most.append(len(context.live))
        return made

    context.sequence = counting  # type: ignore[method-assign, assignment]
    with ExitStack() as stack:
        hand_on(live, [live[0]] * 4, stack)
    assert max(most) == 4
