"""The stream of a reading's events, as the caller iterates it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TypeVar

from wim_edge.reading import events

_T = TypeVar("_T")


class Stream(Iterator[events.Event]):
    """The events of one reading. Garbage collection closes it, and then ``stack``."""

    def __init__(self, stack: ExitStack, found: Iterator[events.Event]) -> None:
        self._events = _until_closed(stack, found)
        next(self._events)  # enters the stack, so that closing an unused stream frees it
        self.thread: int | None = None
        """The thread that is in it now."""
        self.reader: int | None = None
        """The thread that took the last event."""

    def __next__(self) -> events.Event:
        self.reader = threading.get_ident()
        event = self._enter(lambda: next(self._events))
        assert event is not None  # only the first one is
        return event

    def close(self) -> None:
        """Ends the reading. Raises ValueError while another thread is in it."""
        self._enter(self._events.close)

    def _enter(self, step: Callable[[], _T]) -> _T:
        before, self.thread = self.thread, threading.get_ident()
        try:
            return step()
        finally:
            self.thread = before


def _until_closed(stack: ExitStack, found: Iterator[events.Event]) -> Generator[events.Event | None, None, None]:
    with stack:
        yield None
        yield from found
