"""`wim-edge doctor`: what it says of the machine, of the model that suits it, and of the one that would be used.
`wim-edge tune`: what it chooses, what is remembered, and for how long."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.scripted import run
from wim_edge import tuned
from wim_edge.catalog import EMBEDDED, Catalog
from wim_edge.engine import available_memory
from wim_edge.engine.memory_estimate import readable

pytestmark = pytest.mark.real  # llama.cpp, on a tiny model
MIB = 1 << 20


def facts(*args: object, code: int = 0) -> dict[str, Any]:
    done = run("doctor", "--json", *args)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def tiny(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model that is not tried in a process of its own first."""
    monkeypatch.setattr("wim_edge.engine.load_check.check", lambda path: None)
    return tiny


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model on this disk."""
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)


def limit(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int, used: int = 0) -> None:
    """A control group of so many bytes."""
    (folder / "own").write_text("0::/\n")
    for name, text in (("max", size), ("current", used), ("stat", "anon 1")):
        (folder / f"memory.{name}").write_text(f"{text}\n")
    monkeypatch.setattr(available_memory, "_CGROUPS", folder)
    monkeypatch.setattr(available_memory, "_OWN", folder / "own")


def test_the_machine_the_model_and_its_speed(tiny: Path) -> None:
    done = run("doctor", "--model", tiny, "--threads", 1, "--ctx", 512, "--kv-type", "f32", "--no-flash-attn")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if line[0] != " "] == [
        "This machine", "Recommended", "Would be used", "Roles", "Settings", "Speed",
    ]  # fmt: skip
    shown = {line[2:20].strip(): line[21:] for line in done.stdout.splitlines() if line[0] == " "}
    assert 1 <= int(shown["physical cores"]) <= (os.cpu_count() or 1)
    assert shown["file"] == str(tiny)
    assert shown["threads"] == "1"
    assert shown["KV cache"] == "f32, flash attention off"
    assert shown["largest context"].startswith("512 tokens: ")
    for way in ("prefill", "decode"):
        assert float(shown[way].split(" ")[0].replace(",", "")) > 0
    assert "tokens/s" in shown["prefill"]


def test_the_judge_and_the_writer_and_their_memory(tiny: Path) -> None:
    roles = facts("--model", tiny)["roles"]
    assert (roles["judge"]["model"], roles["writer"]["model"]) == (EMBEDDED, "tiny")
    both = roles["judge"]["memory_bytes"] + roles["writer"]["memory_bytes"]
    assert roles["memory_bytes"] == both + 200 * MIB
    shown = run("doctor", "--model", tiny).stdout
    assert f"  judge              {EMBEDDED}, {readable(roles['judge']['memory_bytes'])}\n" in shown
    assert f"  writer             tiny, {readable(roles['writer']['memory_bytes'])}\n" in shown
    assert f"  memory of all      {readable(roles['memory_bytes'])}, " in shown


def test_a_model_may_be_both_or_only_the_judge(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIM_EDGE_JUDGE", "self")
    roles = facts("--model", tiny)["roles"]
    assert roles["judge"] == roles["writer"]
    assert "  writer             the judge itself\n" in run("doctor", "--model", tiny).stdout
    monkeypatch.delenv("WIM_EDGE_JUDGE")
    shown = run("doctor", "--model", EMBEDDED).stdout
    assert "  writer             none: the answer is the judge's quotation\n" in shown


def test_json_says_the_same(tiny: Path) -> None:
    found = facts("--model", tiny)
    assert set(found) == {"machine", "recommended", "use", "roles", "settings", "speed"}
    assert 0 < found["machine"]["memory_available"] <= found["recommended"]["memory_total"] == available_memory.total()
    assert "CPU" in [device["name"] for device in found["machine"]["devices"]]
    assert found["use"]["file"] == str(tiny)
    assert found["use"]["largest_context"] == 4096  # what it was trained for
    assert found["use"]["bytes_at_that_context"]["weights"] == tiny.stat().st_size
    assert min(found["speed"].values()) > 0


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("gib", [1, 2, 4, 8])
def test_the_best_model_that_the_memory_limit_allows_is_recommended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gib: int
) -> None:
    limit(monkeypatch, tmp_path, gib * 1024 * MIB)
    machine = psutil.virtual_memory()._replace(total=1 << 40)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine)
    models = Catalog.load()
    judge = models.get(EMBEDDED)
    needs = {one.name: one.memory_bytes(judge=judge if one.writes else None) for one in models}
    best = max((one for one in models if needs[one.name] <= 0.8 * gib * 1024 * MIB), key=lambda one: one.rank)
    found = facts(code=4)
    assert found["recommended"] == {
        "name": best.name, "judge": EMBEDDED if best.writes else None, "bytes": best.bytes,
        "memory_bytes": needs[best.name], "fits": True, "path": None, "context": min(best.context, 8192),
        "memory_total": gib * 1024 * MIB,
    }  # fmt: skip


@pytest.mark.usefixtures("bare")
def test_where_no_model_fits_the_smallest_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit(monkeypatch, tmp_path, 200 * MIB)
    shown = run("doctor").stdout
    assert f"wim-edge models pull {EMBEDDED} (" in shown
    assert " of 200 MiB, with 8,192 tokens of context: no model of the catalog fits, this is the smallest" in shown
    answering = [one for one in Catalog.load() if one.rank]
    assert min(answering, key=lambda one: one.memory_bytes()).name == EMBEDDED


@pytest.mark.usefixtures("bare")
def test_where_no_model_is_there_the_machine_is_shown_and_how_to_get_one() -> None:
    done = run("doctor")
    assert done.exit_code == 4
    assert "This machine" in done.stdout
    assert "wim-edge models pull " in done.stdout
    assert "Would be used" not in done.stdout
    assert done.stderr == f"error: No model that fits is on this disk\nhint: wim-edge models pull {EMBEDDED}\n"
    assert set(facts(code=4)) == {"machine", "recommended"}


def test_the_largest_context_is_what_free_memory_allows(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limit(monkeypatch, tmp_path, 300 * MIB, 260 * MIB)
    found = facts("--model", tiny, "--gpu-layers", 0)
    assert found["machine"]["memory_available"] == 40 * MIB
    assert 1024 < found["use"]["largest_context"] < 4096
    need = found["use"]["bytes_at_that_context"]
    assert need["kv"] + need["compute"] <= 40 * MIB < 1.1 * need["total"]


def test_the_models_of_another_machine() -> None:
    done = run("doctor", "--as", "raspberry-pi-5")
    assert done.exit_code == 0
    assert "smollm2-135m" in done.stdout
    assert "none was run there" in done.stdout
    found = facts("--as", "raspberry-pi-5")
    assert found["memory"] == 8 << 30
    assert {"name", "nbytes", "context"} == set(found["models"][0])
    assert run("doctor", "--as", "toaster").exit_code == 2


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[float, float]]:
    """Speeds (prefill, decode) by label; 100 and 10 where none is given."""
    speeds: dict[str, tuple[float, float]] = {}

    def measured(*_: object, **__: object) -> tuned.Speed:
        prefill, decode = speeds.get(now[-1], (100.0, 10.0))
        return tuned.Speed(prefill, 1536, decode, 48)

    monkeypatch.setattr(tuned, "measure_speed", measured)
    now: list[str] = []
    measure = tuned._measure

    def labelled(label: str, *rest: Any) -> Any:
        now.append(label)
        return measure(label, *rest)

    monkeypatch.setattr(tuned, "_measure", labelled)
    return speeds


def test_the_fastest_is_remembered(tiny: Path, scripted: dict[str, tuple[float, float]]) -> None:
    scripted["flash attention on"] = (200.0, 10.0)
    scripted["batches of 256"] = (99.0, 10.0)
    result = run("tune", tiny, code=0)
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
    monkeypatch.setattr(tuned, "PREFILL_SECONDS", 0.1)
    monkeypatch.setattr(tuned, "DECODE_SECONDS", 0.1)
    facts = json.loads(run("tune", tiny, "--json").stdout)
    assert facts["ways"][0]["prefill"] > 0
    assert {way["label"] for way in facts["ways"]} >= {"as it is", "flash attention on", "KV cache q8_0"}
