"""llama.cpp's RPC: the devices of other machines, beside or instead of this one's.

The backend connects while it is registered, and a peer that is lost, wrong or of another version ends the process
inside llama.cpp (ggml-rpc.cpp, RPC_STATUS_ASSERT). So it is registered only in a process that was made for it:
`allow_rpc`.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from wim_edge.engine.bindings import base_library, ggml_library, last_errors, lib
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.system.addresses import is_loopback

INSTALL = 'CMAKE_ARGS="-DGGML_RPC=on" pip install --force-reinstall --no-cache-dir llama-cpp-python'
BUILD = "scripts/build_rpc.sh builds it beside an installed one, on Linux (docs/more-than-one-machine.md)."
_SECONDS = 5.0  # to answer in
_AT_ONCE = 0.3  # in which a tunnel closes that leads nowhere
# RPC_CMD_HELLO: a command, the size of what follows, our capabilities (none); answered with a size, a version, theirs
_CAPABILITIES = 24
_HELLO = struct.pack("<BQ", 14, _CAPABILITIES) + bytes(_CAPABILITIES)
_ANSWER = struct.pack("<Q", 4 + _CAPABILITIES)

_registered: set[str] = set()
_apart = False


def allow_rpc() -> None:
    """Allows RPC in this process, which may end at any time: another one waits for it, and reports that."""
    global _apart
    _apart = True


def register(endpoints: str | None) -> None:
    """Makes the devices of these servers ("host:port,host:port") this process's.

    Raises InvalidRequestError if the build has no RPC or the process was not made for it, EngineError if nobody
    listens. Ends the process if something other than an RPC server does.
    """
    if endpoints is None:
        return
    if not _apart:
        raise InvalidRequestError(
            "a model on other machines runs in a process of its own", "Use wim_edge.worker.Worker, ask, read or batch."
        )
    new = [endpoint for endpoint in endpoints.split(",") if endpoint not in _registered]
    check(",".join(new) or None)
    for endpoint in new:
        add = _function("ggml_backend_rpc_add_server", ctypes.c_void_p, [ctypes.c_char_p])
        found = add(endpoint.encode())
        if not found:
            raise EngineError(f"{endpoint}: {last_errors() or 'no RPC server'}", "Start `wim-edge rpc-serve` there.")
        ggml = ggml_library()
        ggml.ggml_backend_register.argtypes = [ctypes.c_void_p]
        ggml.ggml_backend_register.restype = None
        ggml.ggml_backend_register(found)
        _registered.add(endpoint)


def serve(host: str, port: int, n_threads: int, cache: Path | None) -> None:
    """Lends this machine's devices, the GPUs or else the CPU, to one client after another, until it is stopped.

    ``cache``: a folder where weights are kept, so that they travel once. Raises InvalidRequestError if the build has
    no RPC, EngineError if the port cannot be used.
    """
    require()
    start = _function(
        "ggml_backend_rpc_start_server",
        None,
        [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)],
    )
    ggml, base = ggml_library(), base_library()
    every = [ctypes.c_void_p(ggml.ggml_backend_dev_get(index)) for index in range(ggml.ggml_backend_dev_count())]
    lent = [device for device in every if base.ggml_backend_dev_type(device) in (1, 2)]  # GPU, IGPU
    lent = lent or [device for device in every if base.ggml_backend_dev_type(device) == 0]
    devices = (ctypes.c_void_p * len(lent))(*(device.value for device in lent))
    folder = None if cache is None else str(cache).encode()
    start(f"{host}:{port}".encode(), folder, n_threads, len(lent), devices)
    raise EngineError(f"the RPC server at {host}:{port} could not go on", "The port may be taken; give another --port.")


def check(endpoints: str | None) -> None:
    """Raises now what `register` would raise, and, as far as can be known, an error for what would end its process."""
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
    """Raises EngineError unless a server answers there: llama.cpp would end the process, or wait for ever.

    A server that closes the connection on our greeting may speak another version of RPC; llama.cpp reports that.
    """
    host, _, port = endpoint.rpartition(":")
    try:
        if not 0 < int(port) <= 0xFFFF:  # the resolver would take its last 16 bits, and another port with them
            raise ValueError("ports are 1 to 65535")
        line = socket.create_connection((host, int(port)), timeout=_SECONDS)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "Start `wim-edge rpc-serve` there, or the tunnel to it."
        raise EngineError(f"no RPC server at {endpoint}: {why}", hint) from error
    with line:
        said = _heard(line, _AT_ONCE)
        if said is None:
            with suppress(OSError):
                line.sendall(_HELLO)
            said = _heard(line, _SECONDS)
            if said is None:
                raise EngineError(
                    f"the RPC server at {endpoint} does not answer", "It serves one client at a time: wait for it."
                )
        elif not said:
            raise EngineError(f"{endpoint} is closed at once", "A tunnel without a server? Start `wim-edge rpc-serve`.")
    if said and said != _ANSWER[: len(said)]:
        raise EngineError(f"what listens at {endpoint} is no RPC server", "Check the port.")


def _heard(line: socket.socket, seconds: float) -> bytes | None:
    """Returns the bytes that come in this time; none if the connection was closed, None if it is silent."""
    line.settimeout(seconds)
    try:
        return line.recv(8)
    except TimeoutError:
        return None
    except OSError:
        return b""


def remote_endpoints(endpoints: Iterable[str]) -> list[str]:
    """Returns the endpoints that are not on this machine's loopback."""
    return [endpoint for endpoint in endpoints if not is_loopback(endpoint.rpartition(":")[0])]


def _function(name: str, result: Any, arguments: list[Any]) -> Any:
    """Returns a function that the backend exports by name, as the backend may be a library of its own."""
    base, ggml = base_library(), ggml_library()
    ggml.ggml_backend_reg_by_name.argtypes = [ctypes.c_char_p]
    ggml.ggml_backend_reg_by_name.restype = ctypes.c_void_p
    base.ggml_backend_reg_get_proc_address.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    base.ggml_backend_reg_get_proc_address.restype = ctypes.c_void_p
    registry = ggml.ggml_backend_reg_by_name(b"RPC")
    found = base.ggml_backend_reg_get_proc_address(registry, name.encode()) if registry else None
    if not found:
        raise EngineError(f"llama.cpp's RPC does not offer {name}", "Install another llama-cpp-python.")
    return ctypes.CFUNCTYPE(result, *arguments)(found)
