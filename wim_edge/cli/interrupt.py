"""Handles Ctrl-C (the first asks for the answer, the second cancels), SIGTERM and SIGHUP (which exit cleanly)."""

from __future__ import annotations

import queue
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wim_edge.cli.display import Display
    from wim_edge.reading.events import Event
    from wim_edge.runtime import Runtime
    from wim_edge.worker import Worker

LOG_CALLBACK = "_on_log"  # what llama.cpp calls with each line of its log (`wim_edge.engine.bindings`)
EXIT_FAILED, EXIT_EARLY, EXIT_NOT_FOUND, EXIT_CANCELLED = 1, 10, 11, 130
STOPPING = "stopping; the answer comes from what has been read. Ctrl-C again cancels"


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP raise SystemExit in the `with` block, so that temporary folders are removed."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = [signal.signal(number, _exit) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _exit(number: int, frame: FrameType | None) -> None:
    # C calls it, where an exception is lost: the signal comes again a little later
    if frame and any(one.f_code.co_name == LOG_CALLBACK for one, _ in walk_stack(frame)):
        threading.Timer(0.05, signal.raise_signal, [number]).start()
    else:
        sys.exit(128 + number)


class Interruptible:
    """Runs a stream of events in a thread, so that Ctrl-C takes effect before llama.cpp returns.

    While text is read, the first Ctrl-C shows the warning ``says`` and asks for the answer; the second cancels. Before
    text is read, and during the answer, the first Ctrl-C cancels. Before the first event, it raises KeyboardInterrupt.
    """

    def __init__(self, runtime: Runtime | Worker, start: Callable[[], Iterator[Event]], says: str = STOPPING) -> None:
        self._runtime, self._start, self._says = runtime, start, says
        # A SimpleQueue, because the signal handler may put an item while the same thread waits in get()
        self._queue: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        self._has_begun = self._has_read = self._is_answering = False
        self._abandoned = threading.Event()
        self.presses = 0
        """The number of times that Ctrl-C was pressed since the first event."""
        self.asked_as: str | None = None
        """The question as it was restated; None: it was asked in the user's words."""

    def exit_code(self, last: Event | None) -> int:
        """Returns the command's exit code. ``last``: the stream's last event."""
        reason = getattr(last, "finish_reason", "")
        if reason == "cancelled":
            return EXIT_CANCELLED
        if self.presses and reason == "early_exit":
            return EXIT_EARLY
        return EXIT_NOT_FOUND if getattr(last, "status", "") == "not_found" else 0

    def show(self, display: Display) -> Event | None:
        """Shows all events of the stream, and returns the last event; None if there was no event."""
        last = None
        with display, closing(self.events(display.tick)) as found:
            for last in found:
                self.asked_as = getattr(last, "asked_as", self.asked_as)
                display.show(last)
        return last

    def events(self, tick: Callable[[], None] = lambda: None) -> Generator[Event, None, None]:
        """Yields the stream's events, and calls ``tick`` while none comes. Ends once the thread has left the engine."""
        worker = threading.Thread(target=self._work, daemon=True)
        before = signal.signal(signal.SIGINT, self._on_sigint)
        worker.start()
        try:
            while (item := self._next(tick)) is not None:
                if isinstance(item, BaseException):
                    raise item
                self._has_begun = True
                self._has_read |= item.type == "reading.progress"
                self._is_answering |= item.type == "answer.delta"
                yield item
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._abandoned.set()
            self._runtime.cancel()
            # Each further Ctrl-C cancels again, which kills a worker process that does not respond
            signal.signal(signal.SIGINT, lambda *_: self._runtime.cancel())
            while worker.is_alive():
                worker.join(0.2)
            signal.signal(signal.SIGINT, before)

    def _next(self, tick: Callable[[], None]) -> Event | BaseException | None:
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=0.1)  # Windows does not interrupt an endless wait
            tick()

    def _work(self) -> None:
        try:
            if not self._abandoned.is_set():
                for event in self._start():
                    self._queue.put(event)
                    if self._abandoned.is_set():
                        break
            self._queue.put(None)
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            self._queue.put(error)

    def _on_sigint(self, _signal: int, _frame: object) -> None:
        if not self._has_begun:
            raise KeyboardInterrupt
        self.presses += 1
        if self.presses == 1 and self._has_read and not self._is_answering:
            from wim_edge.reading.events import Warning

            self._queue.put(Warning(self._says))
            self._runtime.answer_now()
        else:
            self._runtime.cancel()
