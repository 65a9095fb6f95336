"""`wim-edge rpc-serve`: which addresses are served, and with which warning."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from wim_edge.cli.main import main

pytestmark = pytest.mark.real  # they import the native library


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What `rpc-serve` would serve, in the place of serving it."""
    from wim_edge.engine import rpc

    found: list[tuple[object, ...]] = []
    monkeypatch.setattr(rpc, "require", lambda: None)
    monkeypatch.setattr(rpc, "serve", lambda *more: found.append(more))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return found


@pytest.mark.parametrize(
    ("host", "address"), [([], "127.0.0.1"), (["localhost"], "127.0.0.1"), (["127.0.0.2"], "127.0.0.2")]
)
@pytest.mark.parametrize("expose", [[], ["--expose"]])
def test_this_machine_alone_is_served_without_a_warning(
    served: list[tuple[object, ...]], host: list[str], address: str, expose: list[str], tmp_path: Path
) -> None:
    options = [*(["--host", *host] if host else []), *expose, "--threads", "3", "--cache", str(tmp_path / "cache")]
    done = CliRunner().invoke(main, ["rpc-serve", *options])
    assert (done.exit_code, done.output) == (0, "")
    assert served == [(address, 50052, 3, tmp_path / "cache")]
    assert (tmp_path / "cache").is_dir()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7"])
def test_another_address_is_served_if_it_is_said_twice_and_with_a_warning(
    served: list[tuple[object, ...]], host: str
) -> None:
    done = CliRunner().invoke(main, ["rpc-serve", "--host", host])
    assert done.exit_code == 2
    assert f"error: {host} can be reached from other machines, and RPC has no protection" in done.stderr
    assert "SSH tunnel" in done.stderr
    assert served == []
    done = CliRunner().invoke(main, ["rpc-serve", "--host", host, "--expose", "--port", "1234"])
    assert done.exit_code == 0
    assert done.stderr.startswith(f"WARNING: {host} can be reached from other machines.")
    assert "no password, encrypts nothing" in done.stderr
    assert [more[:2] for more in served] == [(host, 1234)]


@pytest.mark.parametrize("host", ["::1", "::", "machine.local", "", "127.0.0.1.evil.example"])
def test_what_is_no_ipv4_address_is_not_served(served: list[tuple[object, ...]], host: str) -> None:
    done = CliRunner().invoke(main, ["rpc-serve", "--host", host, "--expose"])
    assert done.exit_code == 2
    assert "is no IPv4 address" in done.stderr
    assert served == []
