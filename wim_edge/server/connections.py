"""Connections that bring no request are let go, so that silent ones do not keep others out."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
"""In which a first request's head must have come."""


class Timed(H11Protocol):
    """uvicorn's protocol, with a limit of time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(SECONDS, self._look)

    def _look(self) -> None:
        if getattr(self, "cycle", None) is None:  # no request has begun
            self.transport.close()
