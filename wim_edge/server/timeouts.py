"""Time limits of connections: silent ones are closed, and all streams end before the server does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
"""The time for a request's head to arrive, from the connection's or the head's first byte."""


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's protocol, with a time limit for each head."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._waiting = self.loop.call_later(SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        before = getattr(self, "cycle", None)
        super().data_received(data)
        cycle = getattr(self, "cycle", None)
        if cycle is not before and self._waiting is not None:  # a request has begun
            self._waiting.cancel()
            self._waiting = None
        if self._waiting is None and cycle is before and (cycle is None or cycle.response_complete):
            self._waiting = self.loop.call_later(SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)


class DrainingServer(Server):
    """uvicorn's server; before it stops, it calls ``end``, which should end all streams."""

    def __init__(self, config: Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await run_in_threadpool(self._end)
        await super().shutdown(sockets)
