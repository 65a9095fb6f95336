"""The speed of a model, measured in a bounded time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge.engine import benchmark
from wim_edge.engine.benchmark import measure_speed
from wim_edge.engine.context import Context
from wim_edge.engine.model import Model
from wim_edge.settings import Settings

pytestmark = pytest.mark.real


def test_speeds_count_evaluated_tokens(tmp_path: Path) -> None:
    with Model(write_tiny(tmp_path / "tiny.gguf", "llama"), Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert (found.prefill_tokens, found.decode_tokens) == (512, 48)  # a tiny model has the time for all
    assert found.prefill > found.decode > 0


def test_a_slow_machine_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = Context.decode

    def slowly(self: Context, parts: list[tuple[int, int, list[int], int]]) -> object:
        time.sleep(0.02 * sum(len(tokens) for _, _, tokens, _ in parts))
        return decode(self, parts)

    monkeypatch.setattr(Context, "decode", slowly)
    monkeypatch.setattr(benchmark, "PREFILL_SECONDS", 0.5)
    monkeypatch.setattr(benchmark, "DECODE_SECONDS", 0.3)
    begun = time.monotonic()
    with Model(write_tiny(tmp_path / "tiny.gguf", "llama"), Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert time.monotonic() - begun < 10
    assert 8 <= found.prefill_tokens < 64
    assert 0 < found.decode_tokens < 48
    assert found.prefill < 60
    assert found.decode < 60
