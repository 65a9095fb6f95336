"""llama.cpp's RPC where the build lacks it: what can be known beforehand is an error. More: scripts/check_rpc.sh."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from wim_edge import Runtime, Settings
from wim_edge.cli.main import main
from wim_edge.errors import EngineError, InvalidRequestError

pytestmark = pytest.mark.real  # they import the native library


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Somebody at a port who deals with one client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                answer(line)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join(5)


def test_who_answers_is_a_server() -> None:
    from wim_edge.engine import rpc

    heard: list[bytes] = []

    def answer(line: socket.socket) -> None:
        heard.append(line.recv(100))
        line.sendall(struct.pack("<Q", 28) + bytes([7, 0, 0, 0]) + bytes(24))

    with listening(answer) as endpoint:
        rpc.knock(endpoint)
    assert heard == [struct.pack("<BQ", 14, 24) + bytes(24)]


def test_a_tunnel_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge.engine import rpc

    monkeypatch.setattr(rpc, "_AT_ONCE", 10.0)
    with listening(lambda line: None) as endpoint, pytest.raises(EngineError, match="is closed at once"):
        rpc.knock(endpoint)


def test_who_closes_without_a_word_may_speak_another_version() -> None:
    from wim_edge.engine import rpc

    heard: list[bytes] = []
    with listening(lambda line: heard.append(line.recv(100))) as endpoint:
        rpc.knock(endpoint)
    assert heard == [struct.pack("<BQ", 14, 24) + bytes(24)]  # it was not let go of before


def test_who_says_something_else_is_none() -> None:
    from wim_edge.engine import rpc

    with listening(lambda line: line.sendall(b"HTTP/1.1 400 Bad Request")) as endpoint, pytest.raises(
        EngineError, match="is no RPC server"
    ):
        rpc.knock(endpoint)


def test_who_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from wim_edge.engine import rpc

    monkeypatch.setattr(rpc, "_SECONDS", 0.2)
    done = threading.Event()
    with listening(lambda _: done.wait(5) and None) as endpoint:
        with pytest.raises(EngineError, match="does not answer"):
            rpc.knock(endpoint)
        done.set()


@pytest.mark.parametrize("endpoint", ["127.0.0.1:1", "127.0.0.1:99999", "host.invalid:50052", "a..b:1"])
def test_nobody_is_there(endpoint: str) -> None:
    from wim_edge.engine import rpc

    with pytest.raises(EngineError, match="no RPC server at"):
        rpc.knock(endpoint)


def test_what_is_beyond_this_machine() -> None:
    from wim_edge.engine import rpc

    near = ["127.0.0.1:1", "127.9.9.9:1", "localhost:1"]
    far = ["0.0.0.0:1", "192.168.1.7:1", "pi.local:1"]
    assert rpc.beyond([*near, *far]) == far


def test_a_model_on_other_machines_is_opened_in_no_other_process(smollm2: Path) -> None:
    settings = Settings(model=str(smollm2), rpc="127.0.0.1:1")
    with Runtime(settings) as runtime, pytest.raises(InvalidRequestError, match="a process of its own"):
        runtime.open()


@pytest.mark.parametrize(
    "rpc", ["", "host", "host:", ":1", "host:1,", "host:1 ", "http://host:1", "host:123456", "[::1]:1"]
)
def test_what_is_no_endpoint(rpc: str) -> None:
    with pytest.raises(InvalidRequestError, match="rpc is"):
        Settings(rpc=rpc)


@pytest.mark.parametrize(
    "arguments",
    [["ask", "--rpc", "127.0.0.1:1", "README.md", "What?"], ["read", "--rpc", "127.0.0.1:1", "README.md"],
     ["doctor", "--rpc", "127.0.0.1:1"], ["rpc-serve"]],
)  # fmt: skip
def test_a_build_without_it_says_how_to_get_one(arguments: list[str]) -> None:
    from wim_edge.engine.native import lib

    if lib.llama_supports_rpc():
        pytest.skip("this build has RPC")
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "has no RPC" in done.stderr
    assert 'CMAKE_ARGS="-DGGML_RPC=on" pip install' in done.stderr
