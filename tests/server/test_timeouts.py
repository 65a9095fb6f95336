"""Connections that bring no request are let go of."""

from __future__ import annotations

import socket
import time

import httpx
import pytest

from tests.server.conftest import Client
from wim_edge.server import timeouts


def port_of(client: httpx.Client) -> int:
    assert client.base_url.port
    return client.base_url.port


def test_half_a_head_is_not_waited_for_on_a_kept_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "SECONDS", 0.5)
    host, port = str(client.base_url).removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as held:
        held.sendall(b"GET /api/status HTTP/1.1\r\nHost: evil\r\n\r\n")
        assert b"403" in held.recv(65536)
        begun = time.monotonic()
        held.sendall(b"G")
        while held.recv(65536):
            pass
        assert time.monotonic() - begun > 0.3


def test_silent_connections_are_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port_of(client)), timeout=25) as silent:
        assert silent.recv(1) == b""
    with socket.create_connection(("127.0.0.1", port_of(client)), timeout=25) as slow:
        slow.sendall(b"GET /api/status HTTP/1.1\r\nHost: local")
        assert slow.recv(1) == b""
    assert client.get("/api/status").status_code == 200
