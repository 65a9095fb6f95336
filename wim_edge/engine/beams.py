"""A beam search for constrained decoding: runs of a segment (pointing), runs of a library (recall).

Beams are forks of one prompt; each step evaluates all live beams in one batch.
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
    """A beam that continues a live one by at least one token."""

    beam: Beam
    parent: int
    """The index of the live beam that it continues."""
    tokens: Seq[int]


def search(
    context: Context, prompt: Sequence, first: Beam, advance: Callable[[list[tuple[Beam, Logits]]], list[Step[Beam]]]
) -> int:
    """Evaluates beams step by step until none continues; returns the number of evaluated tokens.

    Takes one sequence of the context for each live beam and leaves the prompt as it was.

    Args:
        first: the beam without tokens.
        advance: returns the beams that continue, given the live ones, each with the logits after every token of its
            last step, (tokens, n_vocab); for the first beam those after the prompt, (1, n_vocab).

    Raises Interrupted, ContextOverflowError.
    """
    spent = 0
    with ExitStack() as stack:
        branches = [stack.enter_context(prompt.fork())]
        live = [(first, prompt.logits[None])]
        while steps := advance(live):
            branches = _branches(branches, [branches[step.parent] for step in steps], stack)
            parts = [(branch, step.tokens) for branch, step in zip(branches, steps, strict=True)]
            rows, live = context.append_each(parts, all_rows=True), []
            for step in steps:
                live.append((step.beam, rows[: len(step.tokens)]))
                rows = rows[len(step.tokens) :]
                spent += len(step.tokens)
    return spent


def _branches(live: Seq[Sequence], parents: Seq[Sequence], stack: ExitStack) -> list[Sequence]:
    """Returns a sequence for the child of each of ``parents``: the parent's own for its last child, else a fork.

    First closes those of ``live`` without children, so that no more sequences are open than beams are live. The stack
    closes the forks.
    """
    for one in live:
        if one not in parents:
            one.close()
    return [
        one if one not in parents[at + 1 :] else stack.enter_context(one.fork()) for at, one in enumerate(parents)
    ]
