"""How fast models have read here: remembered, and of no harm where it is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wim.island import reply
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
