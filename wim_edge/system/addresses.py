"""Network addresses."""

from __future__ import annotations

import ipaddress
import socket

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def connect(address: str, seconds: float) -> socket.socket:
    """Returns a connection to HOST:PORT. Raises OSError if nothing listens there, ValueError if the form is wrong."""
    host, _, port = address.rpartition(":")
    if not 0 < int(port) <= 0xFFFF:  # the resolver would truncate it to another port
        raise ValueError(f"{port} is no port: 1 to 65535")
    return socket.create_connection((host, int(port)), timeout=seconds)
