"""Guards the server: refuses requests from pages of other sites, and requests without the token if one is set.

Pages of other sites in a browser on this machine must not reach the model (DNS rebinding, cross-site requests).
Therefore the Host header, and the Origin header if there is one, must name the server. No Access-Control header is ever
sent. A connection that sends nothing is closed. A request whose body stalls gets 408. Streams end before the server.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from wim_edge.system.addresses import LOOPBACK, is_loopback

COOKIE = "wim-edge-token"
SHELF = "wim-edge-shelf"
"""The cookie or header that names a client's shelf (documents and questions). Without it, the common shelf is used."""
_SHELF_SECONDS = 400 * 86_400  # the most that browsers keep a cookie
HEAD_SECONDS = 10.0
"""The time limit for a request's headers, in seconds, from the connection or from the first byte of a later request."""
_BODY_SECONDS = 30.0  # the longest wait for the next piece of a body
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


def new_token() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Guard:
    """ASGI middleware that passes a request on to ``app``, or answers 401, 403 or 408.

    ``hosts``: the server's names and addresses, without ports. ``token``: a request must show it in the header
    ``Authorization: Bearer`` or in the cookie that opening ``/?token=`` sets. None: no token is needed.
    """

    app: ASGIApp
    hosts: frozenset[str]
    token: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_whole = is_late = False

        async def send_safely(message: Message) -> None:
            if is_late:
                return  # drops the application's answer to an incomplete body
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        async def receive_soon() -> Message:
            nonlocal is_whole, is_late
            if is_whole:  # the application waits for the client to disconnect
                return await receive()
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    message = await receive()
            except TimeoutError:
                is_late = True
                raise
            is_whole = not message.get("more_body", False)
            return message

        try:
            await (self._refusal(scope) or self.app)(scope, receive_soon, send_safely)
        except TimeoutError:
            if not is_late:
                raise
        if is_late:
            await _refused(408, "the request's body did not arrive", "Send it at once.")(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        request = HTTPConnection(scope)
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if _host_of("//" + host) not in self.hosts:
            return _refused(403, "the Host header names another machine", "Use the address that the server printed.")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return _refused(403, "the request comes from another site", "Open the server's own page.")
        if self.token is None:
            return None
        is_page = scope["path"] == "/" and scope["method"] == "GET"
        if is_page and self._is_token(given := request.query_params.get("token", "")):
            found = RedirectResponse("/", 303)
            found.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            if not request.cookies.get(SHELF):
                found.set_cookie(SHELF, new_token(), _SHELF_SECONDS, httponly=True, samesite="strict")
            return found
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return None
        if self._is_token(request.cookies.get(COOKIE, "")):
            return None
        return _refused(401, "a token is required", "Send it as 'Authorization: Bearer TOKEN', or open /?token=TOKEN.")

    def _is_token(self, given: str) -> bool:
        return bool(self.token) and bool(given) and hmac.compare_digest(given.encode(), str(self.token).encode())


def hosts_of(address: str, more: Iterable[str] = ()) -> frozenset[str]:
    """Returns a server's host names in lower case: ``address``, ``more``, and loopback names if it listens there."""
    own = LOOPBACK if is_loopback(address) or address in ("0.0.0.0", "::") else ()
    return frozenset(name.strip("[]").lower() for name in (address, *own, *more))


def _host_of(url: str) -> str | None:
    try:
        found = urlsplit(url)
        return found.hostname if not (found.path or found.query or found.fragment or found.username) else None
    except ValueError:
        return None


def _refused(status: int, message: str, hint: str) -> Response:
    return JSONResponse({"error": {"type": "Refused", "message": message, "hint": hint}}, status)


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP protocol, with a time limit for the headers of each request."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        before = getattr(self, "cycle", None)
        super().data_received(data)
        cycle = getattr(self, "cycle", None)
        if cycle is not before and self._waiting is not None:  # a request has begun
            self._waiting.cancel()
            self._waiting = None
        if self._waiting is None and cycle is before and (cycle is None or cycle.response_complete):
            self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)


class DrainingServer(Server):
    """A uvicorn server that calls ``end`` before it shuts down, so that ``end`` can end all event streams."""

    def __init__(self, config: Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await run_in_threadpool(self._end)
        await super().shutdown(sockets)
