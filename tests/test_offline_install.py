"""The script of a bundle: a virtual environment, the wheels, the models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import written
from wim_edge import offline_install


@pytest.fixture(autouse=True)
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that were run; no environment is made."""
    found: list[list[str]] = []

    def answer(command: list[str], **more: Any) -> Any:
        found.append(command)
        return SimpleNamespace(stdout=f"{tmp_path / 'kept'}\n")

    monkeypatch.setattr(subprocess, "run", answer)
    monkeypatch.setattr(venv, "create", lambda target, **more: found.append([str(target)]))
    return found


@pytest.fixture
def made(tmp_path: Path) -> Path:
    written(tmp_path / "b" / "models" / "m" / "m.gguf", "GGUF")
    (tmp_path / "b" / "bundle.json").write_text(json.dumps({"requirement": "wim-edge==0.1.0", "models": ["m"]}))
    return tmp_path / "b"


def test_it_installs_from_the_wheels_alone(run: list[list[str]], made: Path, tmp_path: Path) -> None:
    command = offline_install.install(made, tmp_path / "we")
    assert command.parent.parent == tmp_path / "we"
    environment, pip, _, pull = run
    assert environment == [str(tmp_path / "we")]
    assert "--no-index" in pip
    assert pip[-3:] == ["--find-links", str(made / "wheels"), "wim-edge==0.1.0"]
    assert (tmp_path / "kept" / "m" / "m.gguf").read_text() == "GGUF"
    assert pull == [str(command), "--offline", "models", "pull", "m", "--alone"]


def test_it_says_how_to_ask(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(offline_install, "__file__", str(made / "install.py"))
    monkeypatch.setattr(sys, "argv", ["install.py", str(tmp_path / "we")])
    offline_install.main()
    assert "wim-edge ask FILE" in capsys.readouterr().out.replace(".exe", "")


@pytest.mark.skipif(os.name == "nt", reason="a file that is open is not replaced")
def test_a_model_that_is_there_is_left_alone_and_another_one_is_replaced_whole(made: Path, tmp_path: Path) -> None:
    target = written(tmp_path / "kept" / "m" / "m.gguf", "SAME")
    with target.open() as opened:
        offline_install.install(made, tmp_path / "we")
        assert target.read_text() == "SAME"  # of the same size
        target.write_text("an old one")
        offline_install.install(made, tmp_path / "we")
        assert target.read_text() == "GGUF"
        assert opened.read() == "an old one"  # whoever has it open keeps it
    assert [one.name for one in target.parent.iterdir()] == ["m.gguf"]


def test_help_installs_nothing(
    run: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["install.py", "--help"])
    with pytest.raises(SystemExit):
        offline_install.main()
    assert "without a network" in capsys.readouterr().out
    assert run == []


def test_an_old_python_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["install.py"])
    monkeypatch.setattr(sys, "version_info", (3, 9))
    with pytest.raises(SystemExit, match=r"3\.11"):
        offline_install.main()
