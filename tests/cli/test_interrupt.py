"""Ctrl-C where a process of its own does the work."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from wim_edge import Document
from wim_edge.cli.interrupt import Interruptible, exit_on_signals
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
