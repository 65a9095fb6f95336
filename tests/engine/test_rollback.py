"""A margin leaves no trace: after a rollback the logits equal those of a cache that never saw it.

Bit for bit where batches and cache layout are equal, for every kind of memory. A window-sized cache may order its cells
differently, so it has a float tolerance. The models are tiny with random weights, and real ones where noted.
"""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")

from tests.engine.cases import STEPS, Case, equal, on_real_models_too  # noqa: E402


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
