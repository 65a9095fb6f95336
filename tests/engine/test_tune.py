"""Ways of running a model: one is better where the difference is more than noise, twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from wim_edge.engine import tune
from wim_edge.engine.context import Context
from wim_edge.engine.model import Model
from wim_edge.engine.tune import RunConfig, measure_speed
from wim_edge.errors import EngineError
from wim_edge.settings import Settings

pytestmark = pytest.mark.real  # llama.cpp, on a tiny model


def way(prefill: float, decode: float = 10.0) -> RunConfig:
    return RunConfig("w", Path("m.gguf"), Settings(), prefill, decode)


def test_the_cost_of_a_way_is_what_a_reading_takes() -> None:
    assert way(4096.0, 150.0).cost == 2.0
    assert way(1024.0, 75.0).cost == 6.0
    assert way(0.0).cost == way(100.0, 0.0).cost == float("inf")


@pytest.mark.parametrize(("measured_again", "is_taken"), [(100.0, True), (400.0, False)])
def test_a_faster_configuration_is_measured_again(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, measured_again: float, is_taken: bool
) -> None:
    """Other work slows the machine while the first way is measured; the second time it does not."""
    seen: list[str] = []

    def measure(label: str, path: Path, settings: Settings) -> RunConfig:
        seen.append(label)
        is_quick = label == "flash attention on"
        prefill = 400.0 if is_quick else 100.0 if seen.count(label) == 1 else measured_again
        return RunConfig(label, path, settings, prefill, 1e9)

    monkeypatch.setattr(tune, "_measure", measure)
    found = list(tune.search(tiny, Settings(n_threads=1)))
    *_, (_, best) = found
    assert best.label == ("flash attention on" if is_taken else "as it is")
    assert seen.count("flash attention on") == 2
    assert found[0][0].label == found[0][1].label == "as it is"
    after = [one for one, _ in found if one.label.startswith("batches")]
    goes_on_from = True if is_taken else Settings().flash_attn
    assert {one.settings.flash_attn for one in after} == {goes_on_from}


def test_a_file_that_cannot_be_run_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = RunConfig("as it is", tiny, Settings(), error="no memory")
    monkeypatch.setattr(tune, "_measure", lambda *_: broken)
    with pytest.raises(EngineError, match="no memory"):
        list(tune.search(tiny, Settings(n_threads=1)))


def test_speeds_count_evaluated_tokens(tiny: Path) -> None:
    with Model(tiny, Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert (found.prefill_tokens, found.decode_tokens) == (512, 48)  # a tiny model has the time for all
    assert found.prefill > found.decode > 0


def test_a_slow_machine_is_interrupted(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decode = Context.decode

    def slowly(self: Context, parts: list[tuple[int, int, list[int], int]]) -> object:
        time.sleep(0.02 * sum(len(tokens) for _, _, tokens, _ in parts))
        return decode(self, parts)

    monkeypatch.setattr(Context, "decode", slowly)
    monkeypatch.setattr(tune, "PREFILL_SECONDS", 0.5)
    monkeypatch.setattr(tune, "DECODE_SECONDS", 0.3)
    begun = time.monotonic()
    with Model(tiny, Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert time.monotonic() - begun < 10
    assert 8 <= found.prefill_tokens < 64
    assert 0 < found.decode_tokens < 48
    assert found.prefill < 60
    assert found.decode < 60
