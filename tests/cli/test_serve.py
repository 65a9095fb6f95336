"""`wim-edge serve` as a user starts it, and the addresses that `rpc-serve` serves."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.cli.scripted import run

pytestmark = pytest.mark.real  # processes, and the native library


@contextmanager
def started(*options: str, **variables: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What it prints, and the process."""
    if os.name == "nt":
        pytest.skip("signals")
    command = [sys.executable, "-m", "wim_edge", "serve", "--port", "0", *options]
    environment = {**os.environ, **variables}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield server.stderr.readline(), server
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


def get(address: str, **headers: str) -> httpx.Response:
    transport = httpx.HTTPTransport(retries=20)
    with httpx.Client(transport=transport, timeout=60) as client:
        return client.get(address, headers=headers)


def test_it_serves_this_machine_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    with started(str(tmp_path)) as (line, server):
        found = re.fullmatch(r"wim-edge serves (http://127\.0\.0\.1:\d+)/\n", line)
        assert found, line
        assert get(found[1] + "/api/status").json()["folders"] == [str(tmp_path)]
        assert "<title>wim-edge</title>" in get(found[1]).text
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


def test_others_need_the_token_that_is_printed() -> None:
    with started("--host", "0.0.0.0", "--name", "reader.local") as (line, _):
        found = re.fullmatch(r"wim-edge serves (http://0\.0\.0\.0:(\d+))/\?token=(\S+)\n", line)
        assert found, line
        address = f"http://127.0.0.1:{found[2]}/api/status"
        assert get(address).status_code == 401
        shown = {"authorization": f"Bearer {found[3]}"}
        assert get(address, **shown).status_code == 200
        assert get(address, **shown, host="reader.local").status_code == 200
        assert get(address, **shown, host="other.local").status_code == 403


def test_the_token_may_come_from_the_environment() -> None:
    with started(WIM_EDGE_TOKEN="secret") as (line, _):
        address = line.split()[-1].split("/?")[0]
        assert line.endswith("/?token=secret\n")
        assert get(address + "/api/status").status_code == 401
        assert get(address + "/api/status", authorization="Bearer secret").status_code == 200


def test_what_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    wrong = "error: the token is empty"
    for options, says in ((["--token", ""], wrong), (["--host", "0.0.0.0", "--token", "a b"], wrong),
                          ([str(tmp_path / "nothing")], "Usage: ")):  # fmt: skip
        with started(*options) as (line, server):
            assert server.wait(60) == 2, options
            assert line.startswith(says)


def test_a_port_that_another_program_has_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, started("--port", str(other.getsockname()[1])) as (_, server):
        assert server.wait(60) == 2
        assert "cannot be used" in (server.stderr.read() if server.stderr else "")


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
    done = run("rpc-serve", *options)
    assert (done.exit_code, done.output) == (0, "")
    assert served == [(address, 50052, 3, tmp_path / "cache")]
    assert (tmp_path / "cache").is_dir()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7"])
def test_another_address_is_served_if_it_is_said_twice_and_with_a_warning(
    served: list[tuple[object, ...]], host: str
) -> None:
    done = run("rpc-serve", "--host", host)
    assert done.exit_code == 2
    assert f"error: {host} can be reached from other machines, and RPC has no protection" in done.stderr
    assert "SSH tunnel" in done.stderr
    assert served == []
    done = run("rpc-serve", "--host", host, "--expose", "--port", "1234")
    assert done.exit_code == 0
    assert done.stderr.startswith(f"WARNING: {host} can be reached from other machines.")
    assert "no password, encrypts nothing" in done.stderr
    assert [more[:2] for more in served] == [(host, 1234)]


@pytest.mark.parametrize("host", ["::1", "::", "machine.local", "", "127.0.0.1.evil.example"])
def test_what_is_no_ipv4_address_is_not_served(served: list[tuple[object, ...]], host: str) -> None:
    done = run("rpc-serve", "--host", host, "--expose")
    assert done.exit_code == 2
    assert "is no IPv4 address" in done.stderr
    assert served == []
