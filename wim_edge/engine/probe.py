"""The features of this machine and of this build of llama.cpp, and their speed."""

from __future__ import annotations

import platform
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle, islice

import numpy as np

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import Device, devices, lib, system_info
from wim_edge.engine.context import Context
from wim_edge.engine.model import Model, physical_cores
from wim_edge.engine.protocols import Interrupted
from wim_edge.engine.sequence import Sequence

_TEXT = "The quick brown fox jumps over the lazy dog while the rain falls on the old stone bridge. "
_PREFILL_SECONDS, _DECODE_SECONDS = 6.0, 4.0


@dataclass(frozen=True)
class Machine:
    """The facts of a machine that do not depend on a model; memory in bytes."""

    system: str
    python: str
    llama_cpp_python: str
    cpu_features: str
    physical_cores: int
    memory_available: int
    gpu_offload: bool
    devices: tuple[Device, ...]


@dataclass(frozen=True)
class Speed:
    """The speeds of prefill and decoding, in tokens a second, each measured over so many tokens."""

    prefill: float
    prefill_tokens: int
    decode: float
    decode_tokens: int


def machine() -> Machine:
    return Machine(
        f"{platform.system()} {platform.machine()}",
        platform.python_version(),
        version("llama-cpp-python"),
        system_info(),
        physical_cores(),
        available_memory.available(),
        bool(lib.llama_supports_gpu_offload()),
        tuple(devices()),
    )


def measure(model: Model) -> Speed:
    """Measures prefill and decode speed, in about ten seconds at most, however slow the machine is.

    A first small batch warms up and tells how much may be tried; a watchdog stops the measurement
    if it still takes too long.
    """
    context = model.context(1024)
    tokens = list(islice(cycle(model.tokenize(_TEXT)), 512))
    with context.sequence() as sequence:
        sequence.append([*model.bos_tokens, *tokens[:4]])
        started = time.perf_counter()
        sequence.append(tokens[:8])
        per_token = (time.perf_counter() - started) / 8
        n = int(np.clip(_PREFILL_SECONDS / max(per_token, 1e-6), 8, 512))
        prefill, n = _timed(context, sequence, [tokens[:n]], _PREFILL_SECONDS)
        decode, m = _timed(context, sequence, [[token] for token in tokens[:64]], _DECODE_SECONDS)
    context.close()
    return Speed(n / prefill if n else 0.0, n, m / decode if m else 0.0, m)


def _timed(context: Context, sequence: Sequence, parts: list[list[int]], seconds: float) -> tuple[float, int]:
    """Returns the seconds taken and the tokens done before the time was up."""
    before = len(sequence)
    watchdog = threading.Timer(seconds + 2, context.interrupt)
    watchdog.start()
    started = time.perf_counter()
    try:
        for part in parts:
            sequence.append(part)
            if time.perf_counter() - started > seconds:
                break
    except Interrupted:
        pass
    finally:
        watchdog.cancel()
        context.resume()
    return time.perf_counter() - started, len(sequence) - before
