"""What was measured of models here: used for the same file and machine only, and harmless if damaged. Of two ways of
running a model, one is better where the difference is more than noise, twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reading.island import reply
from wim_edge import loaded_models, tuned
from wim_edge.catalog import ResolvedModel
from wim_edge.errors import EngineError
from wim_edge.settings import Paths, Settings
from wim_edge.testing import FakeModel
from wim_edge.tuned import RunConfig, measure_speed

real = pytest.mark.real  # llama.cpp, on a tiny model


@real
def test_the_users_settings_stand_before(tiny: Path) -> None:
    found = {"n_threads": 1, "n_batch": 256, "flash_attn": True}
    tuned.save(tiny, found)
    with loaded_models.open_model(ResolvedModel("tiny", tiny, None), Settings(n_batch=64)) as opened:
        assert (opened.settings.n_batch, opened.settings.n_threads, opened.settings.flash_attn) == (64, 1, True)
    with loaded_models.open_model(ResolvedModel("tiny", tiny, None), Settings(flash_attn=False)) as opened:
        assert opened.settings.flash_attn is False


@real
@pytest.mark.parametrize("setting", [{"flash_attn": 7}, {"flash_attn": "x"}, {"n_batch": 512.5}, {"kv_type": [1]}])
def test_settings_of_another_type_are_not_used(tiny: Path, setting: dict[str, object]) -> None:
    tuned.save(tiny, setting)
    assert not tuned.load(tiny)
    tuned.save(tiny, {})
    loaded_models.open_model(ResolvedModel("tiny", tiny, None), Settings()).close()


@real
@pytest.mark.parametrize("change", ["file", "machine", "setting"])
def test_what_no_longer_holds_is_not_used(tiny: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    tuned.save(tiny, {"n_threads": 1})
    assert tuned.load(tiny) == {"n_threads": 1}
    if change == "file":
        os.utime(tiny, (1, 1))
    elif change == "machine":
        monkeypatch.setattr(tuned, "machine", lambda: "another")
    else:
        (store,) = Paths.from_environment().config.glob("tuned/*.json")
        store.write_text(store.read_text().replace('"n_threads": 1', '"n_threads": -1'))
    assert tuned.load(tiny) == {}


@real
@pytest.mark.parametrize("damage", [
    lambda text: text[: text.rindex("n_threads")],  # cut off
    lambda text: text.replace("1.gguf", '1".gguf'),
    lambda text: text.replace('"n_threads": 1', '"n_threads": ,'),
    lambda text: text[: text.rindex("n_threads")] + "[" * 100_000,
    *(lambda _, instead=instead: instead for instead in (
        "", "{", "[]", "null", "7", "\udcff\udcfe", "[" * 100_000, "{}", '{"x": 1}', '{"file": "x"}',
        '{"settings": {"n_threads": -1}}')),
])  # fmt: skip
def test_a_damaged_file_costs_one_model_what_was_found(tmp_path: Path, damage: Callable[[str], str]) -> None:
    one, two = tmp_path / "1.gguf", tmp_path / "2.gguf"
    for n, path in enumerate((one, two), 1):
        path.write_bytes(b"any file")
        tuned.save(path, {"n_threads": n})
    (store,) = (file for file in Paths.from_environment().config.glob("tuned/*") if "1.gguf" in file.read_text())
    store.write_text(damage(store.read_text()), "utf-8", "surrogateescape")
    assert (tuned.load(one), tuned.load(two)) == ({}, {"n_threads": 2})
    tuned.save(one, {"n_threads": 5})
    tuned.save(two, None)
    assert (tuned.load(one), tuned.load(two)) == ({"n_threads": 5}, {})


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"x": "y"}', *(f'{{"MODEL": {speed}}}' for speed in (
    '"fast"', 0, -5, 1e300, "null", [1]))])  # fmt: skip
def test_a_damaged_file_is_as_none(tmp_path: Path, damage: str) -> None:
    model = FakeModel(reply)
    tuned.note_speed(model, 2560, 256.0)
    (file,) = tmp_path.rglob("speeds.json")
    file.write_text(damage.replace("MODEL", model.fingerprint))
    assert tuned.known_speed(model) is None
    tuned.note_speed(model, 2560, 1.0)
    assert tuned.known_speed(model) == 2560.0
    file.unlink()
    file.mkdir()
    tuned.note_speed(model, 2560, 256.0)
    assert tuned.known_speed(model) is None


def test_a_short_reading_tells_nothing(tmp_path: Path) -> None:
    model = FakeModel(reply)
    tuned.note_speed(model, 255, 1.0)
    tuned.note_speed(model, 2560, 0.0)
    assert tuned.known_speed(model) is None
    assert not list(tmp_path.rglob("*.json"))


def test_the_last_reading_counts_and_the_oldest_models_are_forgotten() -> None:
    models = [FakeModel(reply) for _ in range(70)]
    for number, model in enumerate(models, 1):
        tuned.note_speed(model, 1000, 1000.0 / number)
    assert [tuned.known_speed(model) for model in models[:6]] == [None] * 6
    assert [tuned.known_speed(model) for model in models[6:9]] == [7.0, 8.0, 9.0]
    tuned.note_speed(models[6], 1000, 1.0)
    assert tuned.known_speed(models[6]) == 1000.0


def way(prefill: float, decode: float = 10.0) -> RunConfig:
    return RunConfig("w", Path("m.gguf"), Settings(), prefill, decode)


def test_the_cost_of_a_way_is_what_a_reading_takes() -> None:
    assert way(4096.0, 150.0).cost == 2.0
    assert way(1024.0, 75.0).cost == 6.0
    assert way(0.0).cost == way(100.0, 0.0).cost == float("inf")


@real
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

    monkeypatch.setattr(tuned, "_measure", measure)
    found = list(tuned.search(tiny, Settings(n_threads=1)))
    *_, (_, best) = found
    assert best.label == ("flash attention on" if is_taken else "as it is")
    assert seen.count("flash attention on") == 2
    assert found[0][0].label == found[0][1].label == "as it is"
    after = [one for one, _ in found if one.label.startswith("batches")]
    goes_on_from = True if is_taken else Settings().flash_attn
    assert {one.settings.flash_attn for one in after} == {goes_on_from}


@real
def test_a_file_that_cannot_be_run_is_an_error(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = RunConfig("as it is", tiny, Settings(), error="no memory")
    monkeypatch.setattr(tuned, "_measure", lambda *_: broken)
    with pytest.raises(EngineError, match="no memory"):
        list(tuned.search(tiny, Settings(n_threads=1)))


@real
def test_speeds_count_evaluated_tokens(tiny: Path) -> None:
    from wim_edge.engine.model import Model

    with Model(tiny, Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert (found.prefill_tokens, found.decode_tokens) == (512, 48)  # a tiny model has the time for all
    assert found.prefill > found.decode > 0


@real
def test_a_slow_machine_is_interrupted(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge.engine.context import Context

    decode = Context.decode

    def slowly(self: Context, parts: list[tuple[int, int, list[int], int]]) -> object:
        time.sleep(0.02 * sum(len(tokens) for _, _, tokens, _ in parts))
        return decode(self, parts)

    monkeypatch.setattr(Context, "decode", slowly)
    monkeypatch.setattr(tuned, "PREFILL_SECONDS", 0.5)
    monkeypatch.setattr(tuned, "DECODE_SECONDS", 0.3)
    begun = time.monotonic()
    from wim_edge.engine.model import Model

    with Model(tiny, Settings(n_threads=1)) as model:
        found = measure_speed(model, 512)
    assert time.monotonic() - begun < 10
    assert 8 <= found.prefill_tokens < 64
    assert 0 < found.decode_tokens < 48
    assert found.prefill < 60
    assert found.decode < 60
