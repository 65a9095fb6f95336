"""One beam search for all that is decoded under a constraint: runs of a segment (pointing), runs of a library (recall).

Beams are forks of one prompt, and all that go on are evaluated together, a batch a step.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

from wim_edge.engine.protocols import Context, Logits, Sequence

Beam = TypeVar("Beam")


@dataclass(frozen=True)
class Step(Generic[Beam]):
    """A beam that goes on."""

    beam: Beam
    parent: int
    """The place among the live beams of the one that it continues."""
    tokens: Seq[int]
    """The tokens to be evaluated for it, one at least."""


def search(
    context: Context, prompt: Sequence, first: Beam, advance: Callable[[list[tuple[Beam, Logits]]], list[Step[Beam]]]
) -> int:
    """Evaluates beams step by step until none goes on; returns the number of tokens that were evaluated.

    Takes as many sequences of the context as beams go on; the prompt's is afterwards as it was before.

    Args:
        first: the beam that has no tokens yet.
        advance: returns the beams that go on, given the live ones, each with the logits after every token of its last
            step, (tokens, n_vocab); of the first beam those after the prompt, (1, n_vocab).

    Raises Interrupted, ContextOverflowError.
    """
    spent = 0
    with ExitStack() as stack:
        branches = [stack.enter_context(prompt.fork())]
        live = [(first, prompt.logits[None])]
        while steps := advance(live):
            branches = _hand_on(branches, [branches[step.parent] for step in steps], stack)
            parts = [(branch, step.tokens) for branch, step in zip(branches, steps, strict=True)]
            rows, live = context.append_each(parts, all_rows=True), []
            for step in steps:
                live.append((step.beam, rows[: len(step.tokens)]))
                rows = rows[len(step.tokens) :]
                spent += len(step.tokens)
    return spent


def _hand_on(live: Seq[Sequence], parents: Seq[Sequence], stack: ExitStack) -> list[Sequence]:
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
