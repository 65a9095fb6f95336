"""A sequence: forked, stopped, taken out and put back, with what was kept appended."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.cases import TOLERANCE, Case, equal
from wim_edge.engine.protocols import Interrupted, MemoryKind, StateFile
from wim_edge.errors import EngineError

pytestmark = pytest.mark.real


def test_a_fork_outlives_its_source(case: Case) -> None:
    sequence = case.context.sequence()
    case.step(sequence, 0)
    case.step(sequence, 1)
    branch = sequence.fork()
    sequence.close()
    assert case.same(case.step(branch, 2), case.expected[2])
    branch.close()


@pytest.mark.parametrize("stored", ["in memory", "in a file"])
def test_a_damaged_snapshot_is_refused_and_leaves_an_empty_sequence(case: Case, stored: str, tmp_path: Path) -> None:
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        snapshot = sequence.snapshot(tmp_path / "state" if stored == "in a file" else None)
        if isinstance(half := snapshot.state, StateFile):
            os.truncate(half.path, half.nbytes // 2)
        else:
            half = half[: len(half) // 2]
        with pytest.raises(EngineError, match="could not restore"):
            sequence.restore(replace(snapshot, state=half))
        assert len(sequence) == 0
        assert equal(case.step(sequence, 0), case.expected[0])


@pytest.mark.skipif(os.name == "nt", reason="no such limit")
def test_a_disk_that_takes_only_a_part_is_an_error(case: Case, tmp_path: Path) -> None:
    import resource
    import signal

    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        whole = sequence.snapshot(tmp_path / "state").state
        assert isinstance(whole, StateFile)
        size, limit = whole.nbytes, resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for least in (100, size // 2, size - 1):  # in the middle, and in the last flush
                resource.setrlimit(resource.RLIMIT_FSIZE, (least, limit[1]))
                with pytest.raises(OSError, match=r"write|disk"):
                    sequence.snapshot(tmp_path / "state")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, before)
        assert equal(case.step(sequence, 1), case.expected[1])


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
        # Where they stood as if they had been evaluated, but for the cells' order
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < TOLERANCE
        sequence.truncate(2 * case.size)
        assert sequence.append_kept(kept, case.size)  # and behind another text
        assert list(sequence.tokens[-case.size :]) == case.tokens[case.size : 2 * case.size]
        with sequence.fork() as branch:
            assert np.isfinite(case.write_margin(branch)).all()
        sequence.truncate(2 * case.size)  # and gone without a trace
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < TOLERANCE


@pytest.mark.parametrize("case", ["tiny llama (attention)"], indirect=True)
def test_kept_tokens_without_room_beside_are_not_appended(case: Case) -> None:
    with case.context.sequence() as sequence:
        sequence.append((case.tokens * 3)[:1800])
        kept = sequence.snapshot()
        assert not sequence.append_kept(kept, 0)
        assert len(sequence) == 1800
        sequence.append(case.tokens[:1200])  # and what was tried takes no room


def test_interrupted_in_the_middle_and_usable_after(case: Case) -> None:
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        case.context.interrupt()
        with pytest.raises(Interrupted):
            sequence.append(case.tokens[case.size : 2 * case.size])
        case.context.resume()
        assert len(sequence) == case.size
        assert equal(case.step(sequence, 1), case.expected[1])


def test_interrupted_after_a_truncation(case: Case) -> None:
    """What was kept to recover from before the truncation must not come back."""
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
