"""Sequences of a beam search: each beam that goes on has one of its own."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from contextlib import ExitStack

from wim_edge.engine.protocols import Sequence


def hand_on(live: Seq[Sequence], parents: Seq[Sequence], stack: ExitStack) -> list[Sequence]:
    """Returns a sequence for each of ``parents``' children: the parent's own for its last one, a fork for the others.

    Those of ``live`` without children are closed first, so that no more are taken than beams go on; the stack closes
    the forks.
    """
    for one in live:
        if one not in parents:
            one.close()
    return [
        one if one not in parents[at + 1 :] else stack.enter_context(one.fork()) for at, one in enumerate(parents)
    ]
