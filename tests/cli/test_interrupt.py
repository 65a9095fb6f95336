"""Ctrl-C where a process of its own does the work."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.cli.screen import SHALLOW, terminal
from wim_edge import Document
from wim_edge.cli.interrupt import Interruptible, exit_on_signals
from wim_edge.engine import bindings
from wim_edge.worker import Worker


@pytest.mark.skipif(sys.platform == "win32", reason="there os.kill ends the process")
def test_a_process_that_hears_nothing_is_ended_by_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.worker._PATIENCE", 0.3)
    before = signal.getsignal(signal.SIGINT)
    with Worker(command=[sys.executable, "-c", "import time; time.sleep(600)"]) as worker:
        for seconds in (0.5, 1.0):
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
        found = Interruptible(worker, lambda: worker.stream(Document("d", "One."), "Why?")).events()
        with pytest.raises(KeyboardInterrupt):
            next(found)
        assert not worker.running
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="there os.kill ends the process")
def test_an_end_in_order_is_an_exit() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, exit_on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(sys.platform == "win32", reason="there os.kill ends the process")
def test_an_end_while_llama_cpp_logs_is_an_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in a function that C calls is lost."""
    monkeypatch.setattr(bindings.log, "log", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with exit_on_signals():
        bindings._on_log(2, b"a line\n", None)
        with pytest.raises(SystemExit) as ended:
            threading.Event().wait(10)
    assert ended.value.code == 143


on_a_terminal = pytest.mark.skipif(os.name == "nt", reason="no such terminals")


@on_a_terminal
@pytest.mark.usefixtures("plain")
def test_enter_reads_on_until_all_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(50)))
    asked: list[str] = []

    def enter(prompt: str = "") -> str:
        asked.append(prompt)
        return ""

    monkeypatch.setattr("wim_edge.cli.ask.is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", enter)
    options = ("--segment-tokens", "32", "--no-save", "--answer", "list")
    shown = terminal(*SHALLOW, *options, str(path), "What stands in a part?", monkeypatch=monkeypatch)
    assert "16 of " in shown
    assert "likely that another one answers better" in shown
    assert "--within all reads the rest" in " ".join(shown.split())
    assert "reading on after 16 of " in shown
    assert len(asked) == 1


@on_a_terminal
@pytest.mark.usefixtures("plain")
def test_the_end_of_the_input_ends_it(monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    monkeypatch.setattr("wim_edge.cli.ask.is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", Mock(side_effect=EOFError))
    shown = terminal(*SHALLOW, story, "Which colour has the lighthouse?", monkeypatch=monkeypatch)
    assert "reading on" not in shown
