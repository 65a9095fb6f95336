"""Which addresses are this machine's own."""

from __future__ import annotations

import pytest

from wim_edge.system.addresses import is_loopback


@pytest.mark.parametrize(
    ("host", "is_own"),
    [("localhost", True), ("127.3.2.1", True), ("::1", True), ("[::1]", True), ("0.0.0.0", False), ("::", False),
     ("192.168.1.5", False), ("localhost.evil", False), ("", False)],
)  # fmt: skip
def test_loopback(host: str, is_own: bool) -> None:
    assert is_loopback(host) == is_own
