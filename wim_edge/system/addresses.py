"""Network addresses: a check for loopback addresses, and connections."""

from __future__ import annotations

import ipaddress
import socket

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Returns whether the host is a loopback address, which only this machine can reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def connect(address: str, seconds: float) -> socket.socket:
    """Returns a socket connected to "host:port". Raises OSError if nothing listens there, ValueError for a bad port."""
    host, _, port = address.rpartition(":")
    if not 0 < int(port) <= 0xFFFF:  # the resolver would truncate it to another port
        raise ValueError(f"{port} is no port: 1 to 65535")
    return socket.create_connection((host, int(port)), timeout=seconds)
