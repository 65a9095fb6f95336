"""The only module that imports llama_cpp. It handles llama.cpp's log and devices, delays Ctrl-C, opens model files, and
lists this machine's features that the build uses. The log goes to the logger `wim_edge.llama`, silent by default."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import re
import shutil
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from ctypes import CDLL, POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wim_edge.engine import available_memory
from wim_edge.engine.gguf import GGUFHeader, shards
from wim_edge.errors import EngineError, ModelFileError
from wim_edge.system.atomic_files import replace_file


@contextmanager
def _short_spins() -> Iterator[None]:
    """Makes OpenMP libraries that the block loads spin only briefly at barriers, unless the user has configured this.
    llama.cpp has a barrier after every graph node, where GNU OpenMP spins for milliseconds and keeps other processes
    off the core: two readings on two cores reach 0.2 tokens/s each; with GOMP_SPINCOUNT, 23."""
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
    from llama_cpp import _ctypes_extensions, _ggml
    from llama_cpp.llama_cpp import _lib as llama_library

lib = llama_cpp
BUILD: str = llama_cpp.__version__
"""The version of llama-cpp-python, which determines the version of llama.cpp."""

log = logging.getLogger("wim_edge.llama")
log.addHandler(logging.NullHandler())

# By ggml_log_level (ggml.h): llama-cpp-python's own table is off by one. INFO would flood an application's log
_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.WARNING, 4: logging.ERROR}
_CONTINUES = 5  # the log level of a fragment that continues a line
GPU, IGPU = 1, 2  # enum ggml_backend_dev_type
_Q4_K = 12  # enum ggml_type
REPORT = "Please report this with the model's name."
_BLOCK, _BLOCKS = 1 << 16, 64  # in a fingerprint: bytes of a block of weights, and blocks per file
_errors: deque[str] = deque(maxlen=4)
_line = ""
_level = logging.DEBUG


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: object) -> None:
    """Logs llama.cpp's messages as whole lines, joined from fragments. It must not raise an error: C code calls it."""
    global _line, _level
    if level != _CONTINUES:
        _level = _LEVELS.get(level, logging.DEBUG)
    _line += (text or b"").decode("utf-8", "replace")
    while "\n" in _line:
        line, _line = _line.split("\n", 1)
        if line.strip():
            if _level >= logging.ERROR:
                _errors.append(line.strip())
            log.log(_level, "%s", line)


lib.llama_log_set(_on_log, c_void_p(0))
lib.llama_backend_init()


def last_errors() -> str:
    """Returns the last error lines that llama.cpp logged, at most four, as one text; then forgets these lines."""
    text = "; ".join(_errors)
    _errors.clear()
    return text


def load_weights(path: Path, params: Any) -> Any:
    """Loads a model file with llama.cpp's ``params``; returns the model's handle. Raises ModelFileError."""
    last_errors()
    with signals_held():
        handle = lib.llama_model_load_from_file(os.fsencode(path), params)
    if not handle:
        raise ModelFileError(
            f"{path}: llama.cpp cannot load this model: {last_errors() or 'no reason given'}",
            "The architecture may be newer than the installed llama-cpp-python; try another model.",
        )
    return handle


def requantize(source: Path, target: Path, kind: str) -> None:
    """Copies a model file, its weights converted to ``kind`` (`gguf.WEIGHT_TYPES`). Raises OSError, EngineError."""
    params = lib.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = getattr(lib, f"LLAMA_FTYPE_MOSTLY_{kind}"), True
    target.parent.mkdir(parents=True, exist_ok=True)
    last_errors()
    with replace_file(target) as part:
        if lib.llama_model_quantize(os.fsencode(source), os.fsencode(part), byref(params)):
            raise EngineError(f"llama.cpp cannot copy {source.name} as {kind}: {last_errors()}", "Use the original.")


def tokenize(vocab: Any, text: str, *, framed: bool = False, special: bool = False) -> list[int]:
    """Returns a text's token ids. ``framed`` adds the start and end tokens; ``special`` parses control tokens."""
    data = text.encode("utf-8", "replace")
    room = len(data) + 8
    while True:
        out = (lib.llama_token * room)()
        n = lib.llama_tokenize(vocab, data, len(data), out, room, framed, special)
        if n >= 0:
            return list(out[:n])
        room = -n


@contextmanager
def vocabulary(path: Path) -> Iterator[Callable[[str], int]]:
    """Loads only a model's vocabulary, and yields a function that counts a text's tokens. Raises ModelFileError."""
    params = model_params()
    params.vocab_only = True
    handle = load_weights(path, params)
    vocab = lib.llama_model_get_vocab(handle)

    def count(text: str) -> int:  # without a list of the tokens: a book has a million
        data = text.encode("utf-8", "replace")
        return abs(int(lib.llama_tokenize(vocab, data, len(data), None, 0, False, False)))

    try:
        yield count
    finally:
        lib.llama_model_free(handle)
        with suppress(AttributeError, OSError, TypeError):  # glibc keeps freed memory, here up to 40 MB
            CDLL(None).malloc_trim(0)


def batch_error(code: int, n_tokens: int) -> EngineError:
    """Returns the error for a call of `llama_decode` on ``n_tokens`` tokens that failed with ``code``."""
    why = last_errors() or "no reason given"
    return EngineError(f"llama.cpp failed on a batch of {n_tokens} tokens (code {code}): {why}", REPORT)


@dataclass(frozen=True)
class Device:
    """A device that a backend of llama.cpp offers. ``free`` and ``total``: bytes of memory, 0 if they are unknown."""

    name: str
    description: str
    is_gpu: bool
    """True for a GPU on which llama.cpp places layers. False for an integrated GPU in a machine with another GPU."""
    free: int
    total: int
    shares_memory: bool = False
    """True if the device uses main memory: an integrated GPU, or any GPU on Apple silicon."""


@cache
def ggml_function(name: str, result: Any, *arguments: Any) -> Any:
    """Returns the C function ``ggml_backend_{name}`` with these result and argument types. It is in libllama (a wheel's
    libggml.so and libggml.so.0 have separate device registries); on Windows, in ggml or ggml-base."""
    libraries = [llama_library]
    if os.name == "nt":
        base = _ctypes_extensions.load_shared_library("ggml-base", _ggml.libggml_base_path)
        libraries = [_ggml.libggml, base]
    function = next(getattr(one, f"ggml_backend_{name}") for one in libraries if hasattr(one, f"ggml_backend_{name}"))
    function.restype, function.argtypes = result, arguments
    return function


# Loads a separate backend (RPC, another GPU): llama.cpp's programs read this variable, llama-cpp-python does not
if _apart := os.environ.get("GGML_BACKEND_PATH"):
    ggml_function("load", c_void_p, c_char_p)(os.fsencode(_apart))


def device_handles() -> list[tuple[int, int]]:
    """Returns (ggml's handle, kind) of each device; the kind is a number of enum ggml_backend_dev_type."""
    get, kind = ggml_function("dev_get", c_void_p, c_size_t), ggml_function("dev_type", c_int, c_void_p)
    return [(handle, kind(handle)) for handle in map(get, range(ggml_function("dev_count", c_size_t)()))]


def devices() -> list[Device]:
    """Returns the devices that llama.cpp finds: the CPU, GPUs, and registered devices of other machines (RPC)."""
    memory = ggml_function("dev_memory", None, c_void_p, POINTER(c_size_t), POINTER(c_size_t))
    texts = [ggml_function(f"dev_{name}", c_char_p, c_void_p) for name in ("name", "description")]
    found = []
    for handle, kind in device_handles():
        free, total = c_size_t(), c_size_t()
        memory(handle, byref(free), byref(total))
        name, description = (text(handle).decode("utf-8", "replace") for text in texts)
        # Metal does not report the GPU of Apple silicon as integrated
        shares = kind == IGPU or (name.startswith("MTL") and platform.machine() == "arm64")
        found.append((kind, Device(name, description, kind in (GPU, IGPU), free.value, total.value, shares)))
    # llama.cpp leaves an integrated GPU idle if this machine has another GPU
    if any(kind == GPU and not one.name.startswith("RPC") for kind, one in found):
        return [replace(one, is_gpu=kind == GPU) for kind, one in found]
    return [one for _, one in found]


def model_params(weights: Collection[int] = ()) -> Any:
    """Returns llama.cpp's parameters for loading a model that has these weight types (enum ggml_type). By default
    llama.cpp copies some weights to another layout. The parameters forbid this with AMX, where llama.cpp crashes if a
    GCC older than 13 built it (its issue 20824), and with AVX-512 for Q4_K weights, whose copy is slower and takes more
    memory (docs/choices.md, the engine)."""
    params, features = lib.llama_model_default_params(), system_info()
    is_loss = "AMX_INT8 = 1" in features or ("AVX512 = 1" in features and _Q4_K in weights)
    params.use_extra_bufts = params.use_extra_bufts and not is_loss
    return params


def system_info() -> str:
    """Returns llama.cpp's list of the processor features that this build uses ("AVX2 = 1 | ...")."""
    return str(lib.llama_print_system_info().decode("utf-8", "replace")).strip()


@contextmanager
def signals_held() -> Iterator[None]:
    """Delays Python's handlers of SIGINT, SIGTERM and SIGHUP until the block ends. Works only in the main thread."""
    names = ("SIGINT", "SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    came: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            handlers[number](number, None)


def fingerprint(header: GGUFHeader) -> str:
    """Returns a hash of llama.cpp's build and a model's files, on which a KV cache depends: 32 hexadecimal digits. It
    covers each file's size, header (in a later shard, 64 KiB) and 64 blocks of weights. Raises OSError."""
    digest = hashlib.blake2b(BUILD.encode(), digest_size=16)
    weights = sum(tensor.nbytes or 0 for tensor in header.tensors)
    for number, path in enumerate(shards(header.path)):
        size = path.stat().st_size
        head = _BLOCK if number else max(0, size - weights)  # the header lists the weights of the first shard alone
        digest.update(size.to_bytes(8, "little"))
        with path.open("rb") as file:
            while file.tell() < head and (block := file.read(min(1 << 20, head - file.tell()))):
                digest.update(block)
            for at in range(_BLOCKS):
                file.seek(head + (size - head) * at // _BLOCKS)
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()


# This machine and this build

_FEATURE = re.compile(r"(\w+) = (\d+)")
_LIBRARIES = ("OPENMP", "REPACK", "LLAMAFILE", "ACCELERATE", "BLAS")
"""The names in llama.cpp's list of features that stand for a library, not for a feature of the processor."""
_FLAGS = {
    "AVX": "avx", "AVX2": "avx2", "AVX512": "avx512f", "AVX512_VNNI": "avx512_vnni", "FMA": "fma", "F16C": "f16c",
    "AVX_VNNI": "avx_vnni", "NEON": "asimd", "DOTPROD": "asimddp", "MATMUL_INT8": "i8mm", "SVE": "sve",
}  # fmt: skip
"""Maps processor features that speed up llama.cpp, by llama.cpp's names, to their flags in Linux's /proc/cpuinfo."""
_REBUILD = "pip install --force-reinstall --no-cache-dir --no-binary llama-cpp-python llama-cpp-python"


def physical_cores() -> int:
    """Returns the number of physical cores (not hyper-threads) that this process may use, at most OMP_NUM_THREADS."""
    import psutil

    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    most = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(most)) if most.isdecimal() else cores)


def machine() -> dict[str, Any]:
    """Returns a JSON object: this machine's system, Python, llama.cpp build, cores, free memory (bytes) and devices."""
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
