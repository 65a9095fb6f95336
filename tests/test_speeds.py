"""How fast models have read here: remembered, and of no harm where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reading.island import reply
from wim_edge import speeds
from wim_edge.testing import FakeModel


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("damage", ["", "[]", "{", json.dumps({"x": "y"})])
def test_a_damaged_file_is_as_none(home: Path, damage: str) -> None:
    model = FakeModel(reply)
    speeds.note(model, 2560, 256.0)
    (file,) = home.rglob("speeds.json")
    file.write_text(damage)
    assert speeds.known(model) is None
    speeds.note(model, 2560, 1.0)
    assert speeds.known(model) == 2560.0
    file.unlink()
    file.mkdir()
    speeds.note(model, 2560, 256.0)
    assert speeds.known(model) is None


def test_a_short_reading_tells_nothing(home: Path) -> None:
    model = FakeModel(reply)
    speeds.note(model, 255, 1.0)
    speeds.note(model, 2560, 0.0)
    assert speeds.known(model) is None
    assert not list(home.rglob("*.json"))


def test_the_last_reading_counts_and_the_oldest_models_are_forgotten() -> None:
    models = [FakeModel(reply) for _ in range(70)]
    for number, model in enumerate(models, 1):
        speeds.note(model, 1000, 1000.0 / number)
    assert [speeds.known(model) for model in models[:6]] == [None] * 6
    assert [speeds.known(model) for model in models[6:9]] == [7.0, 8.0, 9.0]
    speeds.note(models[6], 1000, 1.0)
    assert speeds.known(models[6]) == 1000.0


@pytest.mark.parametrize("speed", ["fast", 0, -5, 1e300, None, [1]])
def test_a_speed_that_cannot_be_is_none(home: Path, speed: object) -> None:
    model = FakeModel(reply)
    speeds.note(model, 1000, 1.0)
    (file,) = home.rglob("speeds.json")
    file.write_text(json.dumps({model.fingerprint: speed}))
    assert speeds.known(model) is None
