"""Connections that bring no request are let go of."""

from __future__ import annotations

import time

import pytest

from tests.server.conftest import Client
from wim_edge.server import timeouts


def test_half_a_head_is_not_waited_for_on_a_kept_connection(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "SECONDS", 0.5)
    with client.connect() as held:
        held.sendall(b"GET /api/status HTTP/1.1\r\nHost: evil\r\n\r\n")
        assert b"403" in held.recv(65536)
        begun = time.monotonic()
        held.sendall(b"G")
        while held.recv(65536):
            pass
        assert time.monotonic() - begun > 0.3


def test_silent_connections_are_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "SECONDS", 0.3)
    with client.connect() as silent:
        assert silent.recv(1) == b""
    with client.connect() as slow:
        slow.sendall(b"GET /api/status HTTP/1.1\r\nHost: local")
        assert slow.recv(1) == b""
    assert client.get("/api/status").status_code == 200
