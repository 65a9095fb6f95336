"""Sequences: forks, interrupts, and kept tokens that are appended."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.cases import TOLERANCE, Case
from wim_edge.engine.protocols import Interrupted, MemoryKind

pytestmark = pytest.mark.real


def test_a_fork_outlives_its_source(case: Case) -> None:
    sequence = case.context.sequence()
    case.step(sequence, 0)
    case.step(sequence, 1)
    branch = sequence.fork()
    sequence.close()
    assert case.same(case.step(branch, 2), case.expected[2])
    branch.close()


def test_kept_tokens_are_appended_unevaluated_where_cells_can_move(case: Case) -> None:
    moves = case.model.info.memory is MemoryKind.ATTENTION
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        case.step(sequence, 1)
        kept = sequence.snapshot()
        sequence.truncate(case.size)
        before = sequence.logits.copy()
        assert sequence.append_kept(kept, case.size) is moves
        assert len(sequence) == case.size * (2 if moves else 1)
        if not moves:
            assert case.same(sequence.logits, before)
            return
        # At their old positions the logits are the same, but for the order of cells
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < TOLERANCE
        sequence.truncate(2 * case.size)
        assert sequence.append_kept(kept, case.size)  # and after another text
        assert list(sequence.tokens[-case.size :]) == case.tokens[case.size : 2 * case.size]
        with sequence.fork() as branch:
            assert np.isfinite(case.write_margin(branch)).all()
        sequence.truncate(2 * case.size)  # and removed without a trace
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < TOLERANCE


@pytest.mark.parametrize("case", ["tiny llama (attention)"], indirect=True)
def test_kept_tokens_without_room_beside_are_not_appended(case: Case) -> None:
    with case.context.sequence() as sequence:
        sequence.append((case.tokens * 3)[:1800])
        kept = sequence.snapshot()
        assert not sequence.append_kept(kept, 0)
        assert len(sequence) == 1800
        sequence.append(case.tokens[:1200])  # the attempt keeps no cells


def test_interrupted_after_a_truncation(case: Case) -> None:
    """The recovery state from before the truncation must not come back."""
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        sequence.checkpoint()
        case.step(sequence, 1)
        case.write_margin(sequence, 1)
        sequence.truncate(case.size)
        case.context.interrupt()
        with pytest.raises(Interrupted):
            sequence.append(case.tokens[:1])
        case.context.resume()
        assert len(sequence) == case.size
        assert case.same(case.step(sequence, 1), case.expected[1])
