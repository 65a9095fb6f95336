"""A margin leaves no trace: after a rollback the logits equal those of a cache that never saw it.

Bit for bit where batches and cache layout are equal, for every kind of memory. A window-sized cache may order its cells
differently, so it has a float tolerance. The models are tiny with random weights, and real ones where noted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.engine.cases import STEPS, Case, equal, on_real_models_too
from wim_edge.engine.protocols import StateFile
from wim_edge.errors import EngineError

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")


@on_real_models_too
def test_margins_on_forks_leave_no_trace(case: Case) -> None:
    with case.context.sequence() as sequence:
        for i in range(STEPS):
            assert equal(case.step(sequence, i), case.expected[i])
            with sequence.fork() as branch:
                case.write_margin(branch)
            assert len(sequence) == (i + 1) * case.size


@on_real_models_too
def test_margins_truncated_leave_no_trace(case: Case) -> None:
    with case.context.sequence() as sequence:
        for i in range(STEPS):
            assert case.same(case.step(sequence, i), case.expected[i])
            sequence.checkpoint()
            case.write_margin(sequence)
            sequence.truncate((i + 1) * case.size)


def test_a_long_margin_beyond_the_window_leaves_no_trace(case: Case) -> None:
    with case.context.sequence() as sequence:
        for i in range(3):
            case.step(sequence, i)
        with sequence.fork() as branch:
            branch.append(case.tokens[-600:])
        assert equal(case.step(sequence, 3), case.expected[3])


@pytest.mark.parametrize("marked", [True, False])
def test_fork_at_an_earlier_position(case: Case, marked: bool) -> None:
    with case.context.sequence() as sequence:
        for i in range(STEPS):
            case.step(sequence, i)
            if marked:
                sequence.checkpoint()
        for i in (0, 2):
            with sequence.fork((i + 1) * case.size) as branch:
                assert list(branch.tokens) == case.tokens[: (i + 1) * case.size]
                assert case.same(case.step(branch, i + 1), case.expected[i + 1])


def test_fork_anywhere_continues_as_the_same_text(case: Case) -> None:
    at = case.size + 77
    with case.context.sequence() as sequence:
        for i in range(3):
            case.step(sequence, i)
        with sequence.fork(at) as branch:
            branch.append(case.tokens[at : 2 * case.size])
            # Other batch shapes: the same up to float noise (4-bit weights amplify it)
            got, want = branch.logits, case.expected[1]
            assert np.corrcoef(got, want)[0, 1] > 0.99
        assert equal(case.step(sequence, 3), case.expected[3])


in_memory_or_file = pytest.mark.parametrize("stored", ["in memory", "in a file"])


@in_memory_or_file
def test_snapshot_and_restore(case: Case, stored: str, tmp_path: Path) -> None:
    with case.context.sequence() as sequence:
        for i in range(3):
            case.step(sequence, i)
            sequence.checkpoint()
        snapshot = sequence.snapshot(tmp_path / "stäte" if stored == "in a file" else None)
    if stored == "in a file":  # other data may follow the state
        with open(tmp_path / "stäte", "ab") as file:
            file.write(bytes(1000))
    with case.context.sequence() as other:
        other.restore(snapshot)
        assert list(other.tokens) == case.tokens[: 3 * case.size]
        assert case.same(other.logits, case.expected[2])
        with other.fork(2 * case.size) as branch:
            assert case.same(case.step(branch, 2), case.expected[2])
        assert case.same(case.step(other, 3), case.expected[3])


@on_real_models_too
def test_a_restored_reading_forks_at_every_segment_end_and_evaluates_nothing(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with case.context.sequence() as sequence:
        for i in range(STEPS - 1):
            case.step(sequence, i)
            sequence.checkpoint()
        snapshot = sequence.snapshot(tmp_path / "state")
    with case.context.sequence() as other:
        other.restore(snapshot)
        for i in range(1, STEPS - 1):
            with monkeypatch.context() as patch:
                patch.setattr(case.context, "decode", None)
                branch = other.fork(i * case.size)
            with branch:
                assert case.same(case.step(branch, i), case.expected[i])
        assert case.same(case.step(other, STEPS - 1), case.expected[STEPS - 1])
        other.truncate(2 * case.size)
        assert case.same(case.step(other, 2), case.expected[2])


@in_memory_or_file
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
def test_a_full_disk_is_an_error(case: Case, tmp_path: Path) -> None:
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
