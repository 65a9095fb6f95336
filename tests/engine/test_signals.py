"""A signal that comes while C runs is heard when C has returned, wherever its callbacks were."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from wim_edge.engine.signals import signals_held


def called_by_c(work: object) -> None:
    """Calls a function from C, as llama.cpp's log does."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(_one: object, _other: object) -> int:
        work()  # type: ignore[operator]
        return 0

    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, kind(compare))


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C is heard, which it is not in a process that was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
def test_ctrl_c_in_a_callback_is_raised_afterwards() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with signals_held():
            called_by_c(lambda: os.kill(os.getpid(), signal.SIGINT))
            steps.append("the call has ended")
        steps.append("not reached")
    assert steps == ["the call has ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_hosts_handler_is_called_once_and_restored() -> None:
    heard: list[int] = []

    def handler(number: int, _frame: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_nothing_is_held() -> None:
    seen: list[object] = []

    def work() -> None:
        with signals_held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
