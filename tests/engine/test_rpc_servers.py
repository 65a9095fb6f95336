"""A model's layers in two server processes: llama.cpp's own RPC, from `scripts/build_rpc.sh`, which .ci/run calls."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

BACKEND = os.environ.get("RPC_BACKEND")
pytestmark = [pytest.mark.real, pytest.mark.skipif(BACKEND is None, reason="llama.cpp's RPC was not built")]
TEXT = """The harbour of Skell was built in 1871. Its lighthouse stands on the eastern pier and has a green door.

The keeper, Ada Brink, lives there with two cats. She paints the door anew each spring.

In winter the ferry sails on Mondays only. The mail comes with it.
"""
QUESTION = "Who lives in the lighthouse?"
_JUDGE = """
import sys
from wim_edge import Settings
from wim_edge.engine import rpc
from wim_edge.loaded_models import LoadedModels
rpc.allow_rpc()
loaded = LoadedModels(Settings(model=sys.argv[1], rpc=sys.argv[2]))
loaded.check_file()  # has the servers' devices registered
judge = loaded.judge().model()
with judge.context(1024).sequence() as sequence:
    sequence.append(judge.tokenize("The harbour of Skell was built in 1871. " * 40))
print(judge.info.name)
"""
SECONDS = 60  # far more than any step needs


class Home:
    """A home, and commands that read into it."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.env = {**os.environ, "WIM_EDGE_HOME": str(folder), "GGML_BACKEND_PATH": str(BACKEND)}
        self.model = model
        self.document = folder.parent / "harbour.txt"
        self.document.write_text(TEXT, encoding="utf-8")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "wim_edge", *arguments]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def ask(self, *more: str) -> dict[str, Any]:
        """Asks a question; returns the last event."""
        said, wrong = self.start(
            "ask", str(self.document), QUESTION, "--json", "--pattern", "wim", "--model", str(self.model),
            "--answer-tokens", "12", "--segment-tokens", "64", "--threads", "1", "--no-flash-attn", *more,
        ).communicate(timeout=SECONDS)  # fmt: skip
        assert wrong == ""
        last: dict[str, Any] = json.loads(said.splitlines()[-1])
        return last


@pytest.fixture
def servers(tmp_path: Path, smollm2: Path) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Two RPC servers on this machine's processor, by their endpoints."""
    home, found = Home(tmp_path / "home", smollm2), {}
    with ExitStack() as stack:
        for _ in range(2):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            server = stack.enter_context(home.start("rpc-serve", "--port", str(port), "--threads", "1"))
            stack.callback(server.kill)
            found[f"127.0.0.1:{port}"] = server
        for endpoint in found:
            wait(endpoint)
        yield found


def wait(endpoint: str) -> None:
    """Waits until a server listens there."""
    host, port = endpoint.split(":")
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens at {endpoint}")


def peak(server: subprocess.Popen[str]) -> int:
    """Returns the server's peak memory in bytes: it frees a client's layers when the client leaves."""
    [most] = re.findall(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{server.pid}/status").read_text("ascii"), re.MULTILINE)
    return int(most) * 1024


def test_two_servers_compute_what_one_machine_does(
    servers: dict[str, subprocess.Popen[str]], tmp_path: Path, smollm2: Path
) -> None:
    rpc = ("--rpc", ",".join(servers))
    here, home = Home(tmp_path / "here", smollm2).ask(), Home(tmp_path / "home", smollm2)
    idle = [peak(one) for one in servers.values()]
    there, again = home.ask(*rpc), home.ask(*rpc)
    grown = [peak(one) - then for one, then in zip(servers.values(), idle, strict=True)]
    assert min(grown) > smollm2.stat().st_size / 5  # each held half of the layers
    assert told(there) == told(again) == told(here)
    assert again["usage"]["prefilled_tokens"] == 0
    assert again["usage"]["reused_tokens"] == there["usage"]["prefilled_tokens"] > 0


def test_the_judge_stays_here_and_the_writer_s_layers_are_there(
    servers: dict[str, subprocess.Popen[str]], tmp_path: Path, smollm2: Path
) -> None:
    home, endpoints = Home(tmp_path / "home", smollm2), ",".join(servers)
    idle = [peak(one) for one in servers.values()]

    def grown() -> list[int]:
        return [peak(one) - then for one, then in zip(servers.values(), idle, strict=True)]

    command = [sys.executable, "-c", _JUDGE, str(smollm2), endpoints]
    assert subprocess.run(command, env=home.env, capture_output=True, check=True).stdout == b"smollm2-135m\n"
    assert max(grown()) < smollm2.stat().st_size / 20
    last = home.ask("--rpc", endpoints, "--pattern", "wim-shallow")
    assert (last["model"], last["judge"]) == (smollm2.stem, "smollm2-135m")
    assert last["status"] != "not_found"
    assert min(grown()) > smollm2.stat().st_size / 5


def told(last: dict[str, Any]) -> tuple[object, ...]:
    """Returns the parts of an answer that a reader sees."""
    return last["text"], [(one["chars"], one["margin"], round(one["relevance"], 3)) for one in last["sources"]]
