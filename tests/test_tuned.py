"""What was measured of models here: used for the same file and machine only, and harmless if damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reading.island import reply
from wim_edge import loaded_models, tuned
from wim_edge.catalog import ResolvedModel
from wim_edge.settings import Paths, Settings
from wim_edge.testing import FakeModel

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
@pytest.mark.parametrize("change", ["file", "machine", "damaged", "foreign", "setting"])
def test_what_no_longer_holds_is_not_used(tiny: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    from wim_edge.engine import tune

    tuned.save(tiny, {"n_threads": 1})
    assert tuned.load(tiny) == {"n_threads": 1}
    store = Paths.from_environment().config / "tuned.json"
    if change == "file":
        os.utime(tiny, (1, 1))
    elif change == "machine":
        monkeypatch.setattr(tune, "machine", lambda: "another")
    elif change == "damaged":
        store.write_text("{")
    elif change == "foreign":
        store.write_text(json.dumps({str(tiny): {"x": 1}}))
    else:
        store.write_text(store.read_text().replace('"n_threads": 1', '"n_threads": -1'))
    assert tuned.load(tiny) == {}


def three_tuned(folder: Path) -> tuple[Path, list[Path]]:
    """The file of three entries, and the files they are of."""
    models = [folder / f"{n}.gguf" for n in (1, 2, 3)]
    for n, path in enumerate(models, 1):
        path.write_bytes(b"any file")
        tuned.save(path, {"n_threads": n})
    return Paths.from_environment().config / "tuned.json", models


@real
@pytest.mark.parametrize("damage", [
    lambda text: text[: text.rindex("n_threads")],  # cut off
    lambda text: text.replace("3.gguf", '3".gguf'),
    lambda text: text.replace('"n_threads": 3', '"n_threads": ,'),
    lambda text: text.replace('"n_threads": 3}', '"n_threads": 3,'),
    lambda text: text[: text.rindex("n_threads")] + "[" * 100_000,
])  # fmt: skip
def test_damage_to_one_entry_costs_no_other_one(tmp_path: Path, damage: Callable[[str], str]) -> None:
    store, (one, two, three) = three_tuned(tmp_path)
    damaged = damage(store.read_text())
    store.write_text(damaged)
    assert [tuned.load(path) for path in (one, two, three)] == [{"n_threads": 1}, {"n_threads": 2}, {}]
    tuned.save(two, {"n_threads": 5})
    assert [tuned.load(path) for path in (one, two, three)] == [{"n_threads": 1}, {"n_threads": 5}, {}]
    assert set(json.loads(store.read_text())) == {str(one), str(two)}
    assert store.with_name("tuned.json.damaged").read_text() == damaged


@real
def test_commas_that_are_lost_cost_nothing(tmp_path: Path) -> None:
    store, models = three_tuned(tmp_path)
    store.write_text(store.read_text().replace(",\n", "\n"))
    assert [tuned.load(path)["n_threads"] for path in models] == [1, 2, 3]


@real
@pytest.mark.parametrize("entry", [None, 7, [], {}, {"file": "x"}, {"settings": {"n_threads": -1}}])
def test_an_entry_that_is_none_of_ours_stays_as_it_is(tmp_path: Path, entry: object) -> None:
    store, (one, two, three) = three_tuned(tmp_path)
    before = {**json.loads(store.read_text()), str(three): entry, "a later version's": entry}
    store.write_text(json.dumps(before))
    tuned.save(two, None)
    del before[str(two)]
    assert json.loads(store.read_text()) == before
    assert tuned.load(one) == {"n_threads": 1}
    assert not list(store.parent.glob("*.damaged"))


@real
@pytest.mark.parametrize("instead", [b"", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, None])
def test_what_is_no_such_file_is_moved_aside(tiny: Path, instead: bytes | None) -> None:
    store = Paths.from_environment().config / "tuned.json"
    store.parent.mkdir(parents=True)
    if instead is None:
        store.mkdir()
    else:
        store.write_bytes(instead)
    tuned.save(tiny, {"n_threads": 1})
    assert tuned.load(tiny) == {"n_threads": 1}
    aside = store.with_name("tuned.json.damaged")
    assert aside.is_dir() if instead is None else aside.read_bytes() == instead


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
