"""Child processes run this Python and this package, whatever the working directory contains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wim_edge.system import subprocesses
from wim_edge.system.subprocesses import command, environment


def test_a_module_is_started_by_this_python_with_its_arguments() -> None:
    assert command("wim_edge.engine.load_check", "a b", "") == [
        sys.executable, "-P", "-m", "wim_edge.engine.load_check", "a b", "",
    ]  # fmt: skip


def test_a_child_finds_the_same_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN", "kept")
    monkeypatch.setattr(sys, "path", ["", "/one", "/two"])
    found = environment()
    assert found["OWN"] == "kept"
    assert found["PYTHONPATH"].split(":" if sys.platform != "win32" else ";") == ["/one", "/two"]
    assert found["GGML_NO_BACKTRACE"] == "1"


def test_a_module_of_the_working_directory_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(command("json.tool", "--help"), env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_frozen_program_runs_the_module_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert subprocesses.has_python()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocesses, "_runs_modules", False)
    assert not subprocesses.has_python()
    with pytest.raises(RuntimeError, match="run_if_asked"):
        command("json.tool")
    monkeypatch.setattr(sys, "argv", ["app", "report.pdf"])
    subprocesses.run_if_asked()  # no module was requested
    assert subprocesses.has_python()
    asked = command("json.tool", "--help")
    assert asked[0] == sys.executable
    monkeypatch.setattr(sys, "argv", ["app", *asked[1:]])
    with pytest.raises(SystemExit):
        subprocesses.run_if_asked()
    assert "usage" in capsys.readouterr().out


def test_pip_is_this_environments_or_uvs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert subprocesses.pip() == [sys.executable, "-m", "pip"]
    monkeypatch.setattr(subprocesses, "find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", {"uv": "/bin/uv"}.get)
    assert subprocesses.pip() == ["/bin/uv", "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert subprocesses.pip() == [sys.executable, "-m", "pip"]  # pip's own error is clear
