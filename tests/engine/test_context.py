"""The KV cache: its settings, interrupts, several sequences in one batch, and its limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.engine.cases import TINY, TOLERANCE, Case, equal
from wim_edge.engine.bindings import lib
from wim_edge.engine.context import Context
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import Interrupted, MemoryKind
from wim_edge.errors import ContextOverflowError, EngineError
from wim_edge.settings import Settings

pytestmark = pytest.mark.real


def test_settings_reach_the_context(smollm2: Path) -> None:
    sizes = []
    for chosen in (Settings(n_threads=2), Settings(kv_type="q8_0", n_threads=1, n_batch=128)):
        with Model(smollm2, chosen) as model:
            context = model.context(512)
            assert (context.n_ctx, context.n_batch) == (512, chosen.n_batch)
            assert lib.llama_n_threads(context.handle) == chosen.n_threads
            with context.sequence() as sequence:
                sequence.append(model.tokenize("Hello " * 100))
                sizes.append(sequence.nbytes)
    assert sizes[1] < 0.6 * sizes[0]  # 8.5 bits instead of 16


@pytest.mark.parametrize("seen_by", ["us", "llama.cpp"])
def test_interrupted_before_and_inside_a_decode(case: Case, monkeypatch: pytest.MonkeyPatch, seen_by: str) -> None:
    """The sequence continues as if the evaluation had not begun, even if llama.cpp stops in the middle of its graph."""
    with case.context.sequence() as sequence:
        case.step(sequence, 0)
        if seen_by == "llama.cpp":
            monkeypatch.setattr(Context, "interrupted", property(lambda self: False))
        case.context.interrupt()
        with pytest.raises(Interrupted):
            sequence.append(case.tokens[case.size : 2 * case.size])
        monkeypatch.undo()
        case.context.resume()
        assert len(sequence) == case.size
        assert equal(case.step(sequence, 1), case.expected[1])


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


def test_logits_of_the_last_rows(case: Case) -> None:
    with case.context.sequence() as sequence:
        rows = sequence.append(case.tokens[:100], rows=50)
        assert rows.shape == (50, case.model.n_vocab)
        assert equal(rows[-1], sequence.logits)
        with case.context.sequence() as other:
            other.append(case.tokens[:60])
            assert np.corrcoef(rows[9], other.logits)[0, 1] > 0.99


@pytest.mark.parametrize("case", [name for name in TINY if "mamba" not in name], indirect=True)
def test_a_full_context_is_an_error_with_the_numbers(case: Case) -> None:
    """Not for a recurrent memory, which has no cells to fill."""
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
