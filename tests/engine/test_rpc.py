"""llama.cpp's RPC in a build without it: the errors before it starts, and a question across two fake servers with a
scripted model. test_rpc_servers.py tests a build that has it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from tests.reading.story import TEXT
from wim_edge import Runtime, Settings
from wim_edge.cli.main import main
from wim_edge.cli.options import check_rpc
from wim_edge.errors import EngineError, InvalidRequestError

pytestmark = pytest.mark.real  # they import the native library
pytest.importorskip("llama_cpp")

from wim_edge.engine import rpc  # noqa: E402

HELLO = struct.pack("<BQ", 14, 24) + bytes(24)
ANSWER = struct.pack("<Q", 28) + bytes([7, 0, 0, 0]) + bytes(24)


@contextmanager
def listening(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Yields the endpoint of a server that calls ``answer`` for one client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                answer(line)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(5)


@pytest.mark.parametrize("answer", [ANSWER, b""], ids=["a server", "a close, perhaps of another version"])
def test_a_server_is_greeted_and_accepted(answer: bytes) -> None:
    heard: list[bytes] = []

    def serve(line: socket.socket) -> None:
        heard.append(line.recv(100))
        line.sendall(answer)

    with listening(serve) as endpoint:
        rpc.probe(endpoint)
    assert heard == [HELLO]


@pytest.mark.parametrize(("answer", "error"), [
    (lambda line: None, "closes at once"),
    (lambda line: line.sendall(b"HTTP/1.1 400 Bad Request"), "is no RPC server"),
    (lambda line: line.recv(100) and line.recv(100), "does not answer"),
])  # fmt: skip
def test_what_is_no_server_is_an_error(
    answer: Callable[[socket.socket], object], error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "_AT_ONCE", 0.2 if "answer" in error else 10.0)
    monkeypatch.setattr(rpc, "_SECONDS", 0.2 if "answer" in error else 10.0)
    with listening(answer) as endpoint, pytest.raises(EngineError, match=error):
        rpc.probe(endpoint)


@pytest.mark.parametrize("endpoint", ["127.0.0.1:1", "127.0.0.1:99999", "host.invalid:50052", "a..b:1", "cut"])
def test_an_endpoint_without_a_server_is_an_error(endpoint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        if endpoint == "cut":  # the resolver would take the lower 16 bits of the port
            endpoint = f"127.0.0.1:{0x10000 + server.getsockname()[1]}"
        with pytest.raises(EngineError, match="no RPC server at"):
            rpc.probe(endpoint)


def test_only_a_process_of_its_own_opens_a_remote_model(smollm2: Path) -> None:
    settings = Settings(model=str(smollm2), rpc="127.0.0.1:1")
    with Runtime(settings) as runtime, pytest.raises(InvalidRequestError, match="a process of its own"):
        runtime.open()


_SERVER = """
import contextlib, socket, struct
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    server.settimeout(30)
    while True:
        line, _ = server.accept()
        with line, contextlib.suppress(OSError):
            if line.recv(33) == struct.pack("<BQ", 14, 24) + bytes(24):
                line.sendall(struct.pack("<Q", 28) + bytes([7, 0, 0, 0]) + bytes(24))
                print("greeted", flush=True)
                line.recv(1)  # until it is closed
"""
_WORKER = """
import os, socket, sys, threading, time
from tests.reading.story import SMALL, reply
from wim_edge import Runtime
from wim_edge.server import job_queue
from wim_edge.server.worker_protocol import serve
from wim_edge.testing import FakeModel
def slowly(prompt):
    time.sleep(float(os.environ["SLOW"]))
    return reply(prompt)
lines = []
def watch(line):
    while line.recv(1000):
        pass
    os.abort()  # as llama.cpp does when a server is lost
def opened(settings):
    for endpoint in settings.rpc.split(","):
        host, port = endpoint.split(":")
        lines.append(socket.create_connection((host, int(port))))
        lines[-1].sendall(bytes.fromhex(os.environ["HELLO"]))
        threading.Thread(target=watch, args=lines[-1:], daemon=True).start()
    return Runtime(settings, model=FakeModel(slowly))
job_queue.Runtime = opened
serve(iter(sys.stdin.readline, ""), sys.stdout, SMALL)
"""
Servers = list[tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """Two processes that answer as RPC servers do, one client after the other, and their endpoints."""
    monkeypatch.setattr(rpc, "require", lambda: None)
    with ExitStack() as stack:
        made = []
        for _ in range(2):
            server = subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True)
            stack.enter_context(server)
            stack.callback(server.kill)
            made.append((server, f"127.0.0.1:{server.stdout.readline().strip()}"))
        yield made


def greeted(server: subprocess.Popen[str], times: int = 1) -> None:
    assert [server.stdout.readline() for _ in range(times)] == ["greeted\n"] * times


def test_each_of_two_servers_is_probed(servers: Servers) -> None:
    (first, _), (second, lost) = servers
    both = ",".join(endpoint for _, endpoint in servers)
    rpc.check(both)
    greeted(first)
    greeted(second)
    second.kill()
    second.wait()
    with pytest.raises(EngineError, match=f"no RPC server at {lost}: "):
        rpc.check(both)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_question_across_two_servers_and_one_that_is_lost(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _WORKER]
    monkeypatch.setattr("wim_edge.worker.subprocesses.command", lambda *_: command)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HELLO", HELLO.hex())
    monkeypatch.setenv("SLOW", "0")
    (tmp_path / "story.txt").write_text(TEXT)
    both = ",".join(endpoint for _, endpoint in servers)
    asking = ["ask", "--rpc", both, str(tmp_path / "story.txt"), "Which colour?"]
    done = CliRunner().invoke(main, asking)
    assert done.exit_code == 0, done.output
    assert "answer: the answer is blue" in done.stdout
    for server, _ in servers:
        greeted(server, 2)  # by the probe, and by the process that has the model

    def lose() -> None:
        greeted(servers[1][0], 2)
        servers[1][0].kill()

    monkeypatch.setenv("SLOW", "1")
    losing = threading.Thread(target=lose)
    losing.start()
    done = CliRunner().invoke(main, asking)
    losing.join()
    assert done.exit_code == 6
    assert f"the worker process ended (killed by signal 6): {both} may be lost" in done.stderr
    done = CliRunner().invoke(main, asking)
    assert done.exit_code == 6
    assert f"no RPC server at {servers[1][1]}" in done.stderr


@pytest.mark.parametrize(
    "endpoint", ["", "host", "host:", ":1", "host:1,", "host:1 ", "http://host:1", "host:123456", "[::1]:1"]
)
def test_a_setting_that_is_no_endpoint_is_an_error(endpoint: str) -> None:
    with pytest.raises(InvalidRequestError, match="rpc is"):
        Settings(rpc=endpoint)


@pytest.mark.parametrize(
    "arguments",
    [["ask", "--rpc", "127.0.0.1:1", "README.md", "What?"], ["read", "--rpc", "127.0.0.1:1", "README.md"],
     ["batch", "--rpc", "127.0.0.1:1", "--each-document", f"{ROOT}/examples", "--question", "a?",
      "--out", "/dev/null/x"],
     ["doctor", "--rpc", "127.0.0.1:1"], ["rpc-serve"]],
)  # fmt: skip
def test_a_build_without_rpc_prints_how_to_get_one(arguments: list[str], smollm2: Path) -> None:
    if rpc.lib.llama_supports_rpc():
        pytest.skip("this build has RPC")
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "has no RPC" in done.stderr
    assert 'CMAKE_ARGS="-DGGML_RPC=on" pip install' in done.stderr


def test_a_warning_names_the_servers_that_get_the_text_unencrypted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rpc, "check", lambda endpoints: None)
    check_rpc(Settings(rpc="127.0.0.1:1,192.168.1.7:2"))
    assert capsys.readouterr().err == (
        "warning: the text goes to 192.168.1.7:2 unencrypted; an SSH tunnel protects it\n"
    )
