"""States of sequences: saved to memory or a file, restored, and refused if they are damaged."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.cases import STEPS, Case, equal, on_real_models_too
from wim_edge.engine.protocols import StateFile
from wim_edge.errors import EngineError

pytestmark = pytest.mark.real
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
