"""`wim-edge serve` as a user starts it."""

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

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.name == "nt", reason="signals")]


@contextmanager
def started(*options: str, **variables: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """What it prints, and the process."""
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
