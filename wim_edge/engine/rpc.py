"""llama.cpp's RPC: models run on devices of other machines, besides or instead of this machine's. llama.cpp aborts if a
server disappears, is no RPC server, or has another version (ggml-rpc.cpp, RPC_STATUS_ASSERT). So servers are registered
only in a process that calls `allow_rpc`, which its parent watches."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_size_t, c_void_p
from pathlib import Path
from typing import Any

from wim_edge.engine.bindings import GPU, IGPU, device_handles, ggml_function, last_errors, lib
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.system.addresses import connect, is_loopback

INSTALL = 'CMAKE_ARGS="-DGGML_RPC=on" pip install --force-reinstall --no-cache-dir llama-cpp-python'
BUILD = "scripts/build_rpc.sh builds it beside an installed one, on Linux (docs/more-than-one-machine.md)."
_SECONDS = 5.0  # to wait for a response
_AT_ONCE = 0.3  # seconds in which a tunnel without a server closes the connection
# RPC_CMD_HELLO: command, size, our capabilities (none); the response has a size, a version and capabilities
_CAPABILITIES = 24
_HELLO = struct.pack("<BQ", 14, _CAPABILITIES) + bytes(_CAPABILITIES)
_ANSWER = struct.pack("<Q", 4 + _CAPABILITIES)

_registered: set[str] = set()
_apart = False


def allow_rpc() -> None:
    """Allows RPC in this process. llama.cpp may then abort the process; the parent process must report an abort."""
    global _apart
    _apart = True


def register(endpoints: str | None) -> None:
    """Adds the devices of RPC servers ("host:port,host:port"). llama.cpp aborts if a server has another version. Raises
    InvalidRequestError before `allow_rpc` or if the build has no RPC, EngineError if a server does not respond."""
    if endpoints is None:
        return
    if not _apart:
        raise InvalidRequestError(
            "a model on other machines runs in a process of its own", "Use wim_edge.worker.Worker, ask, read or batch."
        )
    new = [endpoint for endpoint in endpoints.split(",") if endpoint not in _registered]
    check(",".join(new) or None)
    for endpoint in new:
        found = _function("add_server", c_void_p, c_char_p)(endpoint.encode())
        if not found:
            raise EngineError(f"{endpoint}: {last_errors() or 'no RPC server'}", "Start `wim-edge rpc-serve` there.")
        ggml_function("register", None, c_void_p)(found)
        _registered.add(endpoint)


def serve(host: str, port: int, n_threads: int, cache: Path | None) -> None:
    """Runs an RPC server that lends this machine's GPUs, or else its CPU, to one client at a time. ``cache``: a folder
    for received weights. Raises InvalidRequestError if the build has no RPC, EngineError when the server stops."""
    require()
    start = _function("start_server", None, c_char_p, c_char_p, c_size_t, c_size_t, POINTER(c_void_p))
    every = device_handles()
    lent = [handle for handle, kind in every if kind in (GPU, IGPU)] or [handle for handle, kind in every if kind == 0]
    folder = None if cache is None else str(cache).encode()
    start(f"{host}:{port}".encode(), folder, n_threads, len(lent), (c_void_p * len(lent))(*lent))
    raise EngineError(f"the RPC server at {host}:{port} stopped", "The port may be in use; give another --port.")


def check(endpoints: str | None) -> None:
    """Raises InvalidRequestError if this build has no RPC, EngineError if no RPC server responds at an endpoint."""
    if endpoints is not None:
        require()
        for endpoint in endpoints.split(","):
            probe(endpoint)


def require() -> None:
    """Raises InvalidRequestError unless this build of llama.cpp has RPC."""
    if not lib.llama_supports_rpc():
        if os.environ.get("GGML_BACKEND_PATH"):
            raise InvalidRequestError(f"no RPC by GGML_BACKEND_PATH: {last_errors() or 'it was not loaded'}", BUILD)
        raise InvalidRequestError("this build of llama-cpp-python has no RPC", f"{INSTALL}; or {BUILD}")


def probe(endpoint: str) -> None:
    """Raises EngineError if no RPC server responds at ``endpoint`` ("host:port"). A server may close the connection
    after our greeting without an error here: it may have another version, which llama.cpp reports."""
    try:
        line = connect(endpoint, _SECONDS)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "Start `wim-edge rpc-serve` there, or the tunnel to it."
        raise EngineError(f"no RPC server at {endpoint}: {why}", hint) from error
    with line:
        said = _heard(line, _AT_ONCE)
        if said == b"":
            raise EngineError(f"{endpoint} closes at once", "A tunnel without a server? Start `wim-edge rpc-serve`.")
        if said is None:
            with suppress(OSError):
                line.sendall(_HELLO)
            said = _heard(line, _SECONDS)
    if said is None:
        hint = "It serves one client at a time: wait for it."
        raise EngineError(f"the RPC server at {endpoint} does not answer", hint)
    if said != _ANSWER[: len(said)]:
        raise EngineError(f"the program at {endpoint} is no RPC server", "Check the port.")


def _heard(line: socket.socket, seconds: float) -> bytes | None:
    """Returns up to 8 bytes that arrive within ``seconds``; b"" if the connection closes, None if nothing arrives."""
    line.settimeout(seconds)
    try:
        return line.recv(8)
    except TimeoutError:
        return None
    except OSError:
        return b""


def remote_endpoints(endpoints: Iterable[str]) -> list[str]:
    return [endpoint for endpoint in endpoints if not is_loopback(endpoint.rpartition(":")[0])]


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """Returns the C function ``ggml_backend_rpc_{name}`` of the RPC backend, which may be in a separate library."""
    registry = ggml_function("reg_by_name", c_void_p, c_char_p)(b"RPC")
    find = ggml_function("reg_get_proc_address", c_void_p, c_void_p, c_char_p)
    found = find(registry, f"ggml_backend_rpc_{name}".encode()) if registry else None
    if not found:
        raise EngineError(f"llama.cpp's RPC has no {name}", "Install another llama-cpp-python.")
    return CFUNCTYPE(result, *arguments)(found)
