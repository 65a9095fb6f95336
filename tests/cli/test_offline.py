"""Offline nothing is fetched, and nothing asks for the network: neither a command nor a process that it starts, neither
Python nor native code (see sockets.c)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.attack.faults import build_shim
from wim_edge.cli.main import main

Guarded = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that notes what asks for the network."""
    try:
        return build_shim(Path(__file__).with_name("sockets.c"), tmp_path_factory.mktemp("sockets"))
    except FileNotFoundError as error:
        pytest.skip(f"needs {error}")


@pytest.fixture
def guarded(shim: Path, tmp_path: Path) -> Guarded:
    """Runs Python with these arguments; its exit code and the notes."""
    log = tmp_path / "sockets.log"

    def run(*arguments: str) -> tuple[int, list[str]]:
        log.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": str(shim), "SOCKETS_LOG": str(log)}
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
        return done.returncode, log.read_text(encoding="utf-8").splitlines()

    return run


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("command", ["models pull qwen3-0.6b", "models add some/repository", "bundle FOLDER"])
def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIM_EDGE_OFFLINE", "yes" if how == "variable" else "no")
    arguments = ["--offline"] if how == "option" else []
    found = CliRunner().invoke(main, [*arguments, *command.split()])
    assert found.exit_code == 7
    assert "offline nothing is fetched" in found.output
    assert not (tmp_path / "FOLDER").exists()


@pytest.mark.parametrize(
    ("code", "noted"),
    [
        ("import socket; socket.socket()", ["process", "socket"]),
        ("import socket; socket.getaddrinfo('localhost', 80)", ["process", "getaddrinfo"]),
        ("import ctypes; ctypes.CDLL(None).socket(2, 1, 0)", ["process", "socket"]),  # as native code does
        ("import subprocess as s, sys; s.run([sys.executable, '-I', '-c', 'import socket; socket.socket()'])",
         ["process", "process", "socket"]),
        ("import socket; socket.socketpair()", ["process"]),
    ],
)  # fmt: skip
def test_the_guard_sees_what_asks_for_the_network(guarded: Guarded, code: str, noted: list[str]) -> None:
    assert guarded("-c", code) == (0, noted)


@pytest.mark.parametrize("arguments", [("models", "list"), ("models", "info", "qwen3-0.6b"), ("library", "list"),
                                       ("models", "pull", "qwen3-0.6b"), ("--help",)])  # fmt: skip
def test_nothing_asks_for_the_network(guarded: Guarded, arguments: tuple[str, ...]) -> None:
    assert guarded("-m", "wim_edge", "--offline", *arguments) == (7 if "pull" in arguments else 0, ["process"])


@pytest.mark.real
def test_no_reading_asks_for_the_network(
    guarded: Guarded, tmp_path: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.tiny import write_tiny

    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path / "untried"))
    text, questions = tmp_path / "a.txt", tmp_path / "questions.csv"
    text.write_text("The ferry sails at noon. It is a small ship.")
    questions.write_text("document,question\na.txt,When does it sail?\n")
    model = ("--model", str(write_tiny(tmp_path / "tiny.gguf", "llama")))
    short = ("--judge", "self", "--answer-tokens", "4")
    commands = (
        (("ask", str(text), "When?", "--model", str(smollm2), *short), 3),  # the file and its template are tried apart
        (("read", str(text), *model), 2),
        (("library", "add", str(text), *model), 1),
        (("ask", "--library", "default", "When does the ferry sail?", *model, *short), 1),
        (("batch", str(questions), "--out", str(tmp_path / "out"), *model, *short), 2),
        (("doctor", *model), 1),
    )
    for arguments, processes in commands:
        code, noted = guarded("-m", "wim_edge", "--offline", *arguments)
        assert code in (0, 11), arguments  # what a model this small makes of the question is not asked here
        assert set(noted) == {"process"}, arguments
        assert len(noted) >= processes, arguments
