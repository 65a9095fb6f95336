"""`wim-edge tune`: what it chooses, what is remembered, and for how long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wim_edge import loaded_models, tuned
from wim_edge.catalog import ResolvedModel
from wim_edge.cli import main
from wim_edge.settings import Paths, Settings

pytestmark = pytest.mark.real  # llama.cpp, on a tiny model

SPEEDS: dict[str, tuple[float, float]] = {}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    from tests.tiny import write_tiny

    return write_tiny(tmp_path / "tiny.gguf", "llama")


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


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["tune", *map(str, args)])


def found(model: Path) -> tuned.Tuned:
    return tuned.load(Paths.from_environment(), model)


def test_the_fastest_is_remembered(model: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["flash attention on"] = (200.0, 10.0)
    scripted["batches of 256"] = (99.0, 10.0)
    result = run(model, "--no-copies")
    assert result.exit_code == 0, result.output
    assert "chosen: flash_attn True; " in result.stdout
    assert found(model) == tuned.Tuned({"flash_attn": True}, None)


def test_nothing_faster_is_said(model: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["batches of 256"] = (102.0, 10.0)  # noise
    assert "chosen: as it is" in run(model, "--no-copies").stdout
    assert found(model) == tuned.Tuned()


def test_no_copy_is_made_in_the_type_that_the_weights_have(
    model: Path, scripted: dict[str, tuple[float, float]], tmp_path: Path
) -> None:
    from wim_edge.engine.tune import requantize

    requantize(model, tmp_path / "q8.gguf", "Q8_0")
    labels = {way["label"] for way in json.loads(run(tmp_path / "q8.gguf", "--json").stdout)["ways"]}
    assert "weights F16" in labels
    assert "weights Q8_0" not in labels


def test_what_was_not_done_in_time_is_told(model: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["batches of 1024"] = (0.0, 10.0)
    line = next(line for line in run(model, "--no-copies").stdout.splitlines() if line.startswith("batches of 1024"))
    assert "not finished" in line
    assert "inf" not in line
    ways = json.loads(run(model, "--no-copies", "--json").stdout, parse_constant=pytest.fail)["ways"]
    assert {way["label"]: way["cost"] for way in ways}["batches of 1024"] is None


@pytest.mark.parametrize(("kind", "taken"), [("Q8_0", True), ("Q4_0", False)])
def test_a_copy_is_taken_if_it_predicts_the_same(
    model: Path, scripted: dict[str, tuple[float, float]], kind: str, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wim_edge.engine import tune

    monkeypatch.setattr(tune, "WEIGHT_TYPES", {kind: tune.WEIGHT_TYPES[kind]})
    scripted[f"weights {kind}"] = (1000.0, 10.0)
    monkeypatch.setattr(tune, "MOST_KL", 1e9 if taken else 1e-12)
    facts = json.loads(run(model, "--json").stdout)
    way = facts["ways"][-1]
    assert way["error"] is None
    assert way["divergence"] >= 0
    folder = tuned.copies(Paths.from_environment(), model)
    assert bool(list(folder.glob("*"))) == taken == bool(facts["chosen"]["copy"])
    if taken:
        with loaded_models.open_model(ResolvedModel("tiny", model, None), Settings()) as opened:
            assert str(opened.info.path) == facts["chosen"]["copy"]
            assert opened.info.name == "tiny"
        Path(facts["chosen"]["copy"]).unlink()
        with loaded_models.open_model(ResolvedModel("tiny", model, None), Settings()) as opened:
            assert opened.info.path == model
        assert "freed" in run(model, "--forget").stdout
        assert found(model) == tuned.Tuned()


def test_a_real_measurement(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge.engine import tune

    monkeypatch.setattr(tune, "PREFILL_SECONDS", 0.1)
    monkeypatch.setattr(tune, "DECODE_SECONDS", 0.1)
    facts = json.loads(run(model, "--json").stdout)
    assert facts["ways"][0]["prefill"] > 0
    assert {way["label"] for way in facts["ways"]} >= {"as it is", "flash attention on", "weights Q8_0", "weights F16"}
