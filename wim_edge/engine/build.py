"""The build of llama.cpp that is installed, and what this machine has that it does not use."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wim_edge.engine.bindings import Device

_FEATURE = re.compile(r"(\w+) = (\d+)")
_NONE = ("OPENMP", "REPACK", "LLAMAFILE", "ACCELERATE", "BLAS")
"""The names in llama.cpp's list that are no features of a processor."""
_FLAGS = {
    "AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f", "AVX512_VNNI": "avx512_vnni", "FMA": "fma", "F16C": "f16c",
    "AVX_VNNI": "avx_vnni", "NEON": "asimd", "DOTPROD": "asimddp", "MATMUL_INT8": "i8mm", "SVE": "sve",
}  # fmt: skip
"""llama.cpp's names of what makes it faster, for which it is compiled, and Linux' in /proc/cpuinfo."""
_AGAIN = "pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python llama-cpp-python"


@dataclass(frozen=True)
class Build:
    """The processor's ``features`` that llama.cpp was built for, ``libraries`` (BLAS and the like) and ``backends`` of
    GPUs, as it calls them, and what this machine has that is ``unused``, each with the command that would use it."""

    features: tuple[str, ...]
    libraries: tuple[str, ...]
    backends: tuple[str, ...]
    unused: tuple[tuple[str, str], ...]


def build_of(info: str, backends: tuple[str, ...], flags: frozenset[str], has_nvidia: bool) -> Build:
    """Returns the build that llama.cpp's list of features tells, on a machine with these flags of its processor."""
    found = tuple(name for name, value in _FEATURE.findall(info) if value != "0")
    features = tuple(name for name in found if name not in _NONE)
    missing = [name for name, flag in _FLAGS.items() if flag in flags and name not in found]
    unused = [(f"{', '.join(missing)} of the processor, to read faster", _AGAIN)] if missing else []
    if has_nvidia and not any(one.startswith("CUDA") for one in backends):
        unused.append(("the NVIDIA GPU, to read faster", f'CMAKE_ARGS="-DGGML_CUDA=on" {_AGAIN}'))
    if sys.platform == "darwin" and "NEON" in found and not backends:
        unused.append(("the GPU (Metal), to read faster", f'CMAKE_ARGS="-DGGML_METAL=on" {_AGAIN}'))
    return Build(features, tuple(name for name in found if name in _NONE), backends, tuple(unused))


def this_build(devices: Iterable[Device]) -> Build:
    """Returns the build that is installed here, which has these devices, seen from this machine."""
    from wim_edge.engine.bindings import system_info

    backends = tuple(device.name for device in devices if device.is_gpu)
    return build_of(system_info(), backends, processor_flags(), shutil.which("nvidia-smi") is not None)


def processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Returns what Linux says that the processor has; nothing on other systems."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
