"""The features of this machine, those that this build of llama.cpp uses, and those that it leaves unused."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wim_edge.engine import available_memory

_FEATURE = re.compile(r"(\w+) = (\d+)")
_LIBRARIES = ("OPENMP", "REPACK", "LLAMAFILE", "ACCELERATE", "BLAS")
"""The names in llama.cpp's list of features that stand for a library, not for a feature of the processor."""
_FLAGS = {
    "AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f", "AVX512_VNNI": "avx512_vnni", "FMA": "fma", "F16C": "f16c",
    "AVX_VNNI": "avx_vnni", "NEON": "asimd", "DOTPROD": "asimddp", "MATMUL_INT8": "i8mm", "SVE": "sve",
}  # fmt: skip
"""Maps processor features that speed up llama.cpp, by llama.cpp's names, to their flags in Linux's /proc/cpuinfo."""
_REBUILD = "pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python llama-cpp-python"


def machine() -> dict[str, Any]:
    """Returns a JSON object: this machine's system, Python, llama.cpp build, cores, free memory (bytes) and devices."""
    from wim_edge.engine.bindings import devices, lib, system_info
    from wim_edge.engine.model import physical_cores

    found = devices()
    gpus = [device.name for device in found if device.is_gpu]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "llama_cpp_python": version("llama-cpp-python"),
        "build": build_of(system_info(), gpus, processor_flags(), has_nvidia=shutil.which("nvidia-smi") is not None),
        "physical_cores": physical_cores(),
        "memory_available": available_memory.available(),
        # llama.cpp counts RPC as offload even without a server
        "gpu_offload": bool(lib.llama_supports_gpu_offload()) and (not lib.llama_supports_rpc() or bool(gpus)),
        "devices": [asdict(device) for device in found],
    }


def build_of(info: str, backends: list[str], flags: frozenset[str], *, has_nvidia: bool) -> dict[str, list[Any]]:
    """Returns a dict of the build's ``features``, ``libraries``, ``backends`` and ``unused``: (feature of this machine,
    command that builds llama.cpp for it). ``info``: the text of `system_info`; ``backends``: the names of the GPUs."""
    found = [name for name, value in _FEATURE.findall(info.rpartition("CPU :")[2]) if value != "0"]
    missing = [name for name, flag in _FLAGS.items() if flag in flags and name not in found]
    for_cuda, has_cuda = f'CMAKE_ARGS="-DGGML_CUDA=on" {_REBUILD}', any(one.startswith("CUDA") for one in backends)
    rebuild = for_cuda if has_cuda else _REBUILD
    unused = [(f"{', '.join(missing)} of the processor, to read faster", rebuild)] if missing else []
    if has_nvidia and not has_cuda:
        unused.append(("the NVIDIA GPU, to read faster", for_cuda))
    if sys.platform == "darwin" and "NEON" in found and not backends:
        unused.append(("the GPU (Metal), to read faster", f'CMAKE_ARGS="-DGGML_METAL=on" {_REBUILD}'))
    return {
        "features": [name for name in found if name not in _LIBRARIES],
        "libraries": [name for name in found if name in _LIBRARIES], "backends": backends, "unused": unused,
    }  # fmt: skip


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Returns the processor's flags from Linux's /proc/cpuinfo; on other systems, an empty set."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
