"""Speed is measured over what was done in the time that there was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge.engine import benchmark
from wim_edge.engine.benchmark import measure_speed
from wim_edge.engine.model import Model
from wim_edge.engine.sequence import Sequence


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "tiny.gguf", "llama")


def test_all_that_there_is_time_for(tiny: Path) -> None:
    with Model(tiny) as model:
        speed = measure_speed(model, 96, 8, 6.0)
    assert (speed.prefill_tokens, speed.decode_tokens) == (96, 48)
    assert speed.prefill > 0
    assert speed.decode > 0


def test_where_there_is_no_time_a_batch_and_a_token(tiny: Path) -> None:
    with Model(tiny) as model:
        speed = measure_speed(model, 96, 8, 0.0)
    assert (speed.prefill_tokens, speed.decode_tokens) == (8, 1)
    assert speed.prefill > 0


def test_what_hangs_is_stopped_and_counts_for_nothing(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append = Sequence.append

    def hang(self: Sequence, tokens: list[int], *rest: object, **more: object) -> object:
        while len(tokens) == 1 and not self.context.interrupted:  # type: ignore[attr-defined]
            pass
        return append(self, tokens, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(benchmark, "_OVERTIME", 0.0)
    monkeypatch.setattr(Sequence, "append", hang)
    with Model(tiny) as model:
        speed = measure_speed(model, 96, 8, 0.1)
    assert (speed.decode, speed.decode_tokens) == (0.0, 0)
