"""The features of this machine and of this build of llama.cpp."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import Device, devices, lib
from wim_edge.engine.build import Build, this_build
from wim_edge.engine.model import physical_cores


@dataclass(frozen=True)
class Machine:
    """The facts of a machine that do not depend on a model; memory in bytes."""

    system: str
    python: str
    llama_cpp_python: str
    build: Build
    physical_cores: int
    memory_available: int
    gpu_offload: bool
    devices: tuple[Device, ...]


def machine() -> Machine:
    found = tuple(devices())
    return Machine(
        f"{platform.system()} {platform.machine()}",
        platform.python_version(),
        version("llama-cpp-python"),
        this_build(found),
        physical_cores(),
        available_memory.available(),
        # llama.cpp counts RPC as such a one, without a machine too
        bool(lib.llama_supports_gpu_offload()) and (not lib.llama_supports_rpc() or any(one.is_gpu for one in found)),
        found,
    )
