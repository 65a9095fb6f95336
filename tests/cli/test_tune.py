"""`wim-edge tune`: what it chooses, what is remembered, and for how long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripted import run
from wim_edge import tuned

pytestmark = pytest.mark.real  # llama.cpp, on a tiny model


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """Speeds (prefill, decode) by label; 100 and 10 where none is given."""
    from wim_edge.engine import tune
    from wim_edge.engine.tune import Speed

    speeds: dict[str, tuple[float, float]] = {}

    def measured(*_: object, **__: object) -> Speed:
        prefill, decode = speeds.get(now[-1], (100.0, 10.0))
        return Speed(prefill, 1536, decode, 48)

    monkeypatch.setattr(tune, "measure_speed", measured)
    now: list[str] = []
    measure = tune._measure

    def labelled(label: str, *rest: Any) -> Any:
        now.append(label)
        return measure(label, *rest)

    monkeypatch.setattr(tune, "_measure", labelled)
    return speeds


def test_the_fastest_is_remembered(tiny: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["flash attention on"] = (200.0, 10.0)
    scripted["batches of 256"] = (99.0, 10.0)
    result = run("tune", tiny)
    assert result.exit_code == 0, result.output
    assert "chosen: flash_attn True; " in result.stdout
    assert tuned.load(tiny) == {"flash_attn": True}


def test_nothing_faster_is_said(tiny: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["batches of 256"] = (102.0, 10.0)  # noise
    assert "chosen: as it is" in run("tune", tiny).stdout
    assert tuned.load(tiny) == {}


def test_what_was_not_done_in_time_is_told(tiny: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["batches of 1024"] = (0.0, 10.0)
    line = next(line for line in run("tune", tiny).stdout.splitlines() if line.startswith("batches of 1024"))
    assert "not finished" in line
    assert "inf" not in line
    ways = json.loads(run("tune", tiny, "--json").stdout, parse_constant=pytest.fail)["ways"]
    assert {way["label"]: way["cost"] for way in ways}["batches of 1024"] is None


def test_a_real_measurement(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge.engine import tune

    monkeypatch.setattr(tune, "PREFILL_SECONDS", 0.1)
    monkeypatch.setattr(tune, "DECODE_SECONDS", 0.1)
    facts = json.loads(run("tune", tiny, "--json").stdout)
    assert facts["ways"][0]["prefill"] > 0
    assert {way["label"] for way in facts["ways"]} >= {"as it is", "flash attention on", "KV cache q8_0"}
