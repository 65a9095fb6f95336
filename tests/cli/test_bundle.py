"""`wim-edge bundle`: a folder that installs wim-edge without a network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.scripted import run
from wim_edge.catalog import Catalog, ModelEntry, PathSource
from wim_edge.cli import bundle
from wim_edge.cli.bundle import make_bundle
from wim_edge.errors import DownloadError, InvalidRequestError
from wim_edge.settings import Paths


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModelEntry:
    """An entry of the catalog, whose file is a few bytes."""
    (tmp_path / "weights").write_bytes(b"GGUF")
    monkeypatch.setattr(bundle, "fetch", lambda entry: tmp_path / "weights")
    return Catalog.load().get("smollm2-135m")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pip was asked for; it makes one wheel."""
    found: list[list[str]] = []

    def run(command: list[str], **more: Any) -> Any:
        found.append(command)
        Path(command[command.index("--wheel-dir") + 1], "wim_edge-0.1.0-py3-none-any.whl").write_bytes(b"12345")
        found.append(Path(command[command.index("--constraint") + 1]).read_text().split())
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return found


def test_a_bundle_holds_wheels_models_and_the_script(tmp_path: Path, model: ModelEntry, asked: list[list[str]]) -> None:
    steps = list(make_bundle(tmp_path / "b", [model], ["documents", "hub"]))
    assert steps == [("wheels", 5), ("smollm2-135m", 4)]
    command, bounds = asked
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert command[-1].startswith("wim-edge[documents,hub] @ file://")
    assert any(one.lower().startswith("msgspec==") for one in bounds)
    assert not any(one.startswith("wim-edge==") for one in bounds)
    (file,) = (tmp_path / "b" / "models" / "smollm2-135m").iterdir()
    assert file.read_bytes() == b"GGUF"
    assert json.loads((tmp_path / "b" / "bundle.json").read_text())["requirement"].startswith(
        "wim-edge[documents,hub]=="
    )
    assert "def install(" in (tmp_path / "b" / "install.py").read_text()


def test_a_model_of_a_repository_lies_where_it_is_looked_for(
    tmp_path: Path, asked: list[list[str]], model: ModelEntry
) -> None:
    from wim_edge.catalog import locate, own_copy

    entry = Catalog.load().get("qwen3-8b")
    list(make_bundle(tmp_path / "b", [entry], []))
    shutil.copytree(tmp_path / "b" / "models", Paths.from_environment().models)
    assert locate(entry) == own_copy(entry)


@pytest.mark.parametrize("there", ["file", "folder"])
def test_what_is_there_is_left_alone(tmp_path: Path, model: ModelEntry, there: str) -> None:
    target = tmp_path / "b"
    if there == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "mine").write_text("mine")
    with pytest.raises(InvalidRequestError, match="not an empty folder"):
        list(make_bundle(target, [model], []))


def test_a_file_of_ones_own_is_refused(tmp_path: Path, model: ModelEntry) -> None:
    from dataclasses import replace

    own = replace(model, sources=(PathSource(tmp_path / "weights"),))
    with pytest.raises(InvalidRequestError, match="your own"):
        list(make_bundle(tmp_path / "b", [own], []))


def test_pip_that_fails_is_told(tmp_path: Path, model: ModelEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = SimpleNamespace(returncode=1, stderr="Retrying\nERROR: No matching distribution\n\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **more: failed)
    with pytest.raises(DownloadError, match="No matching distribution"):
        list(make_bundle(tmp_path / "b", [model], []))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a bundle was asked for."""
    found: list[Any] = []

    def make(target: Path, models: Any, extras: Any) -> Iterator[tuple[str, int]]:
        found.append((target, [one.name for one in models], list(extras)))
        yield "wheels", 50_000_000
        yield "smollm2-135m", 98_000_000

    monkeypatch.setattr(bundle, "make_bundle", make)
    return found


def test_it_says_what_was_gathered_and_what_to_do(tmp_path: Path, made: list[Any]) -> None:
    done = run("bundle", "--model", "smollm2-135m", "--extra", "documents", str(tmp_path / "b"))
    assert made == [(tmp_path / "b", ["smollm2-135m", "all-minilm-l6-v2"], ["documents"])]
    assert "wheels: 50 MB" in done.stderr
    assert "all-minilm-l6-v2 is included (25 MB)" in done.stderr
    assert "148 MB; on the other machine: python3 b/install.py" in done.stdout


def test_the_judge_goes_with_a_writer(tmp_path: Path, made: list[Any]) -> None:
    done = run("bundle", "--model", "qwen3-8b", "--model", "qwen3-4b", str(tmp_path / "b"))
    assert made[0][1] == ["qwen3-8b", "qwen3-4b", "smollm2-135m", "all-minilm-l6-v2"]
    assert "smollm2-135m is included (98 MB)" in done.stderr
    run("bundle", "--model", "qwen3-8b", "--alone", str(tmp_path / "b"))
    run("bundle", "--model", "embeddinggemma-300m", str(tmp_path / "b"))
    assert run("bundle", "--model", "nothing", str(tmp_path / "b")).exit_code == 4
    assert [one[1] for one in made[1:]] == [["qwen3-8b"], ["embeddinggemma-300m"]]


@pytest.mark.real
def test_it_installs_and_answers_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("The lighthouse was built in 1904.")
    made = subprocess.run(
        [sys.executable, "-m", "wim_edge", "bundle", "--model", "smollm2-135m", str(tmp_path / "b")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    size = sum(file.stat().st_size for file in (tmp_path / "b").rglob("*") if file.is_file())
    assert size < 250_000_000
    alone = ["unshare", "-rn"] if shutil.which("unshare") else []  # a network of its own, without interfaces
    if alone and subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        alone = []
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    script = [*alone, sys.executable, str(tmp_path / "b" / "install.py"), str(tmp_path / "we")]
    subprocess.run(script, check=True, cwd=tmp_path)
    command = [*alone, str(tmp_path / "we" / "bin" / "wim-edge"), "--offline", "ask", "a.txt", "When was it built?"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "1904" in done.stdout, done.stderr
    if not alone:
        pytest.skip("no network namespace can be made here: it answered, but where a network was")
