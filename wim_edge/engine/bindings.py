"""llama.cpp itself: the one import, its log, its devices.

The log goes to the logger `wim_edge.llama`, silent unless the host configures it. Importing
llama_cpp installs a log callback of its own, so ours is set afterwards; it stays referenced for the
life of the process because llama.cpp logs in destructors too.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any


@contextmanager
def _short_spins() -> Iterator[None]:
    """Makes OpenMP's barriers give up the core soon, while the library that reads this is loaded.

    llama.cpp puts a barrier after every graph node, and GNU OpenMP spins there for milliseconds when
    another process holds the core. Two readings at once on two cores: 0.2 tokens/s each by default,
    23 with this; alone the speed is the same (103 and 90 to 115).
    """
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


with _short_spins():
    import llama_cpp
    import llama_cpp as lib
    from llama_cpp import _ctypes_extensions, _ggml
    from llama_cpp.llama_cpp import _lib as llama_library

__all__ = [
    "BUILD", "Device", "base_library", "devices", "ggml_library", "last_errors", "lib", "model_params", "system_info",
]  # fmt: skip

BUILD: str = llama_cpp.__version__
"""The version of llama-cpp-python, which names the llama.cpp inside."""

log = logging.getLogger("wim_edge.llama")
log.addHandler(logging.NullHandler())
log.propagate = True

# ggml_log_level; llama-cpp-python's own table is off by one (see ggml.h)
_LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}
_CONTINUES = 5
_GPU, _IGPU = 1, 2  # enum ggml_backend_dev_type
_Q4_K = 12  # enum ggml_type
_errors: deque[str] = deque(maxlen=4)
_line = ""
_level = logging.INFO


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: object) -> None:
    """Joins fragments to whole lines. It must not raise: its caller is C."""
    global _line, _level
    if level != _CONTINUES:
        _level = _LEVELS.get(level, logging.DEBUG)
    _line += (text or b"").decode("utf-8", "replace")
    while "\n" in _line:
        line, _line = _line.split("\n", 1)
        if line.strip():
            if _level >= logging.ERROR:
                _errors.append(line.strip())
            # llama.cpp's INFO is chatter for a host application
            log.log(logging.DEBUG if _level == logging.INFO else _level, "%s", line)


lib.llama_log_set(_on_log, ctypes.c_void_p(0))
lib.llama_backend_init()


def last_errors() -> str:
    """Returns the latest error lines of llama.cpp, joined, and forgets them."""
    text = "; ".join(_errors)
    _errors.clear()
    return text


@dataclass(frozen=True)
class Device:
    """A backend's device; memory in bytes (zero where the backend does not say)."""

    name: str
    description: str
    is_gpu: bool
    """True for a GPU that llama.cpp puts layers on."""
    free: int
    total: int
    shares_memory: bool = False
    """True for an integrated GPU, and on Apple silicon: its memory is main memory."""


@cache
def ggml_library() -> ctypes.CDLL:
    """ggml's registry of backends: the one that llama.cpp asks.

    A wheel has no links, so that libggml.so and the libggml.so.0 that libllama.so needs are two files, two libraries in
    memory, and two registries. Through libllama's handle its own is found; Windows knows libraries by their names.
    """
    ggml: ctypes.CDLL = _ggml.libggml if os.name == "nt" else llama_library
    ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    ggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    return ggml


@cache
def base_library() -> ctypes.CDLL:
    """The library with the functions that describe ggml's devices."""
    base: ctypes.CDLL = llama_library
    if os.name == "nt":
        base = _ctypes_extensions.load_shared_library("ggml-base", _ggml.libggml_base_path)
    for name in ("name", "description"):
        getattr(base, f"ggml_backend_dev_{name}").restype = ctypes.c_char_p
        getattr(base, f"ggml_backend_dev_{name}").argtypes = [ctypes.c_void_p]
    base.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    size_p = ctypes.POINTER(ctypes.c_size_t)
    base.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, size_p, size_p]
    base.ggml_backend_dev_memory.restype = None
    return base


# A backend that was built apart, for RPC or another kind of GPU: llama.cpp's own programs heed this variable,
# llama-cpp-python does not. What llama.cpp has against it is logged.
if _apart := os.environ.get("GGML_BACKEND_PATH"):
    ggml_library().ggml_backend_load(os.fsencode(_apart))


def devices() -> list[Device]:
    """Returns every device of this build: the CPU, GPUs where a backend for them was built, and registered ones of
    other machines."""
    ggml, base = ggml_library(), base_library()
    found, kinds = [], []
    for index in range(ggml.ggml_backend_dev_count()):
        device = ggml.ggml_backend_dev_get(index)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        base.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
        name = base.ggml_backend_dev_name(device).decode("utf-8", "replace")
        description = base.ggml_backend_dev_description(device).decode("utf-8", "replace")
        kinds.append(base.ggml_backend_dev_type(device))
        found.append(Device(name, description, kinds[-1] in (_GPU, _IGPU), free.value, total.value,
                            kinds[-1] == _IGPU or is_apple_silicon(name)))  # fmt: skip
    # llama.cpp puts nothing on an integrated GPU where there is another one, unless that is another machine's
    others = any(kind == _GPU and not one.name.startswith("RPC") for one, kind in zip(found, kinds, strict=True))
    return [replace(one, is_gpu=one.is_gpu and not (others and kind == _IGPU))
            for one, kind in zip(found, kinds, strict=True)]  # fmt: skip


def is_apple_silicon(device: str) -> bool:
    """Tells whether a device is Metal's on Apple silicon, which it calls a GPU like any other."""
    return device.startswith("MTL") and platform.machine() == "arm64"


def model_params(weights: Collection[int] = ()) -> Any:
    """Returns llama.cpp's parameters for opening a model with these types of weights: its own, but for the other layout
    that it copies weights to, which is left away where it is a loss.

    On a processor with AMX its code for it, built by GCC before 13, crashes (llama.cpp's issue 20824). With AVX-512
    Q4_K is slower so, takes more memory and opens later (docs/choices.md, the engine).
    """
    params, features = lib.llama_model_default_params(), system_info()
    is_loss = "AMX_INT8 = 1" in features or ("AVX512 = 1" in features and _Q4_K in weights)
    params.use_extra_bufts = params.use_extra_bufts and not is_loss
    return params


def system_info() -> str:
    """Returns the features of the processor that this build of llama.cpp uses (AVX2 = 1, ...)."""
    return str(lib.llama_print_system_info().decode("utf-8", "replace")).strip()
