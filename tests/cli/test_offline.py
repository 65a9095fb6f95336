"""Offline nothing is fetched, and no socket is opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wim_edge.cli.main import main

_GUARDED = """
import sys
def look(event, args):
    if event.startswith("socket."):
        sys.stderr.write(f"opened {event}\\n")
        sys.stderr.flush()
        import os
        os._exit(99)
sys.addaudithook(look)
from wim_edge.cli.main import main
main(sys.argv[1:])
"""


def guarded(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line; a socket ends it with 99."""
    return subprocess.run([sys.executable, "-c", _GUARDED, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "WIM_EDGE_HOME": str(home)})  # fmt: skip


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIM_EDGE_OFFLINE", raising=False)


@pytest.mark.parametrize("how", ["option", "variable"])
def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("WIM_EDGE_OFFLINE", "yes" if how == "variable" else "no")
    arguments = ["--offline"] if how == "option" else []
    found = CliRunner().invoke(main, [*arguments, "models", "pull", "qwen3-0.6b"])
    assert found.exit_code == 7
    assert "offline nothing is fetched" in found.output


def test_the_guard_sees_a_socket() -> None:
    code = _GUARDED.partition("from wim_edge")[0] + "import socket\nsocket.socket()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (99, "opened socket.__new__\n")


@pytest.mark.parametrize("arguments", [("models", "list"), ("models", "info", "qwen3-0.6b"), ("library", "list"),
                                       ("models", "pull", "qwen3-0.6b"), ("--help",)])  # fmt: skip
def test_no_socket_is_opened(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = guarded("--offline", *arguments, home=tmp_path)
    assert found.returncode == (7 if "pull" in arguments else 0), found.stderr


@pytest.mark.real
def test_no_socket_is_opened_by_a_whole_reading(tmp_path: Path, smollm2: Path) -> None:
    pytest.importorskip("llama_cpp")
    text = tmp_path / "a.txt"
    text.write_text("The ferry sails at noon. It is a small ship.")
    model = ("--model", str(smollm2), "--answer-tokens", "8")
    for arguments in (("ask", str(text), "When?", *model), ("read", str(text), *model[:2]), ("doctor",)):
        found = guarded("--offline", *arguments, home=tmp_path)
        assert found.returncode == 0, found.stderr
