"""A margin leaves no trace: after a rollback the logits equal those of a cache that never saw it.

Bit for bit where batches and cache layout are equal, for every kind of memory; a window-sized cache may
order its cells otherwise, which is tested within float tolerance. All of it on tiny models with random weights; what
a reading rests on also on real ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")

from tests.tiny import write_tiny  # noqa: E402
from wim_edge.engine.context import Context  # noqa: E402
from wim_edge.engine.model import Model  # noqa: E402
from wim_edge.engine.protocols import Interrupted, MemoryKind, StateFile  # noqa: E402
from wim_edge.engine.sequence import Sequence  # noqa: E402
from wim_edge.errors import ContextOverflowError, EngineError  # noqa: E402
from wim_edge.settings import Settings  # noqa: E402

STEPS = 4
TINY = {  # kind of memory, full-size cache, tokens of a step
    "tiny llama (attention)": (MemoryKind.ATTENTION, None, 256),
    "tiny gemma3 (window, full-size cache)": (MemoryKind.WINDOW, True, 256),
    "tiny gemma3 (window, window-sized cache)": (MemoryKind.WINDOW, False, 256),
    "tiny mamba (recurrent)": (MemoryKind.RECURRENT, None, 256),
    "tiny lfm2 (hybrid)": (MemoryKind.HYBRID, None, 256),
}
REAL = {
    "smollm2 (attention)": (MemoryKind.ATTENTION, None, 64),
    "gemma3 (window, full-size cache)": (MemoryKind.WINDOW, True, 160),  # past its window of 512
}
# Steps of whole lanes of 32: a processor sums cells lane by lane, so that cells that stand in other lanes (those of a
# fork begin behind the last ones of its source) make sums that round otherwise
on_real_models_too = pytest.mark.parametrize("case", TINY | REAL, indirect=True, ids=str)


class Case:
    """A model with a context, a text, and the logits after each step of an undisturbed reading."""

    def __init__(self, path: Path, text: str, kind: MemoryKind, swa_full: bool | None, size: int) -> None:
        self.size = size
        """Tokens of a step."""
        self.model = Model(path, Settings(n_batch=size))
        assert self.model.info.memory is kind
        self.context = self.model.context(3072, swa_full=swa_full)
        self.tokens = [*self.model.bos_tokens, *self.model.tokenize(text)][: size * STEPS + 200]
        self.margin, self.n_decoded = (self.tokens[-60:], 12) if size == 256 else (self.tokens[-16:], 4)
        """What a margin is written for, and its length: a real model takes its time for each token."""
        # A window-sized cache may put the same cells in another order, so sums differ in their last bits:
        # little in float weights (tiny models), more where 4-bit weights quantize the activations too
        self.keeps_layout = swa_full is not False
        self.tolerance = 1e-3 if path.name.startswith("gemma3.") else 1.0
        with self.context.sequence() as sequence:
            self.expected = [self.step(sequence, i) for i in range(STEPS)]

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        return equal(a, b) if self.keeps_layout else bool(np.abs(a - b).max() < self.tolerance)

    def step(self, sequence: Sequence, i: int) -> np.ndarray:
        sequence.append(self.tokens[i * self.size : (i + 1) * self.size])
        return sequence.logits.copy()

    def write_margin(self, sequence: Sequence, n: int | None = None) -> list[int]:
        """Append a prompt and decode greedily."""
        sequence.append(self.margin)
        n = n or self.n_decoded
        for _ in range(n):
            sequence.append([int(sequence.logits.argmax())])
        return list(sequence.tokens[-n:])


@pytest.fixture(scope="module", params=TINY)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, long_text: str) -> Iterator[Case]:
    kind, swa_full, size = (TINY | REAL)[request.param]
    if request.param in TINY:
        architecture = request.param.split()[1]
        path = write_tiny(tmp_path_factory.mktemp("tiny") / f"{architecture}.gguf", architecture)
    else:
        path = request.getfixturevalue(request.param.split()[0])
    case = Case(path, long_text, kind, swa_full, size)
    yield case
    case.model.close()


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a == b).all())


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


def test_a_fork_outlives_its_source(case: Case) -> None:
    sequence = case.context.sequence()
    case.step(sequence, 0)
    case.step(sequence, 1)
    branch = sequence.fork()
    sequence.close()
    assert case.same(case.step(branch, 2), case.expected[2])
    branch.close()


@pytest.mark.parametrize("stored", ["in memory", "in a file"])
def test_snapshot_and_restore(case: Case, stored: str, tmp_path: Path) -> None:
    with case.context.sequence() as sequence:
        for i in range(3):
            case.step(sequence, i)
            sequence.checkpoint()
        snapshot = sequence.snapshot(tmp_path / "stäte" if stored == "in a file" else None)
    if stored == "in a file":  # what follows the state is not its business
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
def test_a_restored_reading_forks_at_every_segment_end_and_evaluates_nothing(case: Case, tmp_path: Path) -> None:
    with case.context.sequence() as sequence:
        for i in range(STEPS - 1):
            case.step(sequence, i)
            sequence.checkpoint()
        snapshot = sequence.snapshot(tmp_path / "state")
    with case.context.sequence() as other:
        other.restore(snapshot)
        for i in range(1, STEPS - 1):
            decode = case.context.decode
            case.context.decode = None  # type: ignore[assignment, method-assign]  # whoever calls it fails
            try:
                branch = other.fork(i * case.size)
            finally:
                case.context.decode = decode  # type: ignore[method-assign]
            with branch:
                assert case.same(case.step(branch, i), case.expected[i])
        assert case.same(case.step(other, STEPS - 1), case.expected[STEPS - 1])
        other.truncate(2 * case.size)
        assert case.same(case.step(other, 2), case.expected[2])


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
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < case.tolerance
        sequence.truncate(2 * case.size)
        assert sequence.append_kept(kept, case.size)  # and behind another text
        assert list(sequence.tokens[-case.size :]) == case.tokens[case.size : 2 * case.size]
        with sequence.fork() as branch:
            assert np.isfinite(case.write_margin(branch)).all()
        sequence.truncate(2 * case.size)  # and gone without a trace
        assert np.abs(case.step(sequence, 2) - case.expected[2]).max() < case.tolerance


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


def test_interrupted_inside_a_decode(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp gives up in the middle of its graph, and the sequence goes on as if it had not begun."""
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        # The flag is up, but our own look at it before the call is not: llama.cpp has to see it
        monkeypatch.setattr(Context, "interrupted", property(lambda self: False))
        case.context.interrupt()
        with pytest.raises(Interrupted):
            sequence.append(case.tokens[case.size : 2 * case.size])
        monkeypatch.undo()
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


def test_several_sequences_in_one_batch(case: Case) -> None:
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        with sequence.fork() as a, sequence.fork() as b:
            for branch in (a, b):
                branch.append(case.margin)
            alone = a.logits.copy()
            with sequence.fork() as c:
                case.write_margin(c, 1)
            together = case.context.append_each([(a, case.margin[:3]), (b, case.margin[:3])])
            assert together.shape == (2, case.model.n_vocab)
            assert len(a) == len(b) == case.size + len(case.margin) + 3
            assert np.corrcoef(together[0], together[1])[0, 1] > 0.99
            assert not equal(a.logits, alone)
        assert equal(case.step(sequence, 1), case.expected[1])


def test_logits_for_the_wanted_rows_only(case: Case) -> None:
    with case.context.sequence() as sequence:
        rows = sequence.append(case.tokens[:100], rows=50)
        assert rows.shape == (50, case.model.n_vocab)
        assert equal(rows[-1], sequence.logits)
        with case.context.sequence() as other:
            other.append(case.tokens[:60])
            assert np.corrcoef(rows[9], other.logits)[0, 1] > 0.99


@pytest.mark.parametrize("case", [name for name in TINY if "mamba" not in name], indirect=True)
def test_a_full_context_is_an_error_with_the_numbers(case: Case) -> None:
    """But for a recurrent memory, which has no cells to fill."""
    with case.context.sequence() as sequence:
        with pytest.raises(ContextOverflowError, match="3,072"):
            sequence.append((case.tokens * 3)[:3300])
        sequence.truncate(0)
        assert equal(case.step(sequence, 0), case.expected[0])


def test_too_many_sequences_is_an_error(case: Case) -> None:
    taken = [case.context.sequence() for _ in range(case.context.n_sequences)]
    with pytest.raises(EngineError, match="sequences are in use"):
        case.context.sequence()
    for sequence in taken:
        sequence.close()
