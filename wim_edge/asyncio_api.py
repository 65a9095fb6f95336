"""An asyncio version of `Runtime.stream`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Protocol

from wim_edge.reading.events import Event


class Streaming(Protocol):
    def stream(self, *given: Any, **more: Any) -> Any: ...
    def cancel(self) -> None: ...


async def astream(runtime: Streaming, *given: Any, **more: Any) -> AsyncGenerator[Event, None]:
    """Yields the events of ``runtime.stream(*given, **more)``, which runs in a thread, and raises its errors. Close the
    generator (`contextlib.aclosing`) or cancel the task to stop the reading after the current batch. ``runtime``: a
    `Runtime`, a `Worker`, or another object with these two methods."""
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
    gone = False

    def work() -> None:
        last: BaseException | None = None
        try:
            for event in runtime.stream(*given, **more):
                if gone:
                    break
                loop.call_soon_threadsafe(found.put_nowait, event)
        except BaseException as error:  # noqa: BLE001 - raised again in the task
            last = error
        loop.call_soon_threadsafe(found.put_nowait, last)

    worker = loop.run_in_executor(None, work)
    try:
        while (item := await found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        gone = True
        if not worker.done():
            runtime.cancel()
        await asyncio.shield(worker)
