"""A search, by measurement, for the fastest configuration of a model on this machine.

It varies one setting after the other from the best so far: threads, flash attention, batch size, the KV cache's type,
then copies of the model in other weight types. A smaller weight type may be slower if the processor has no fast matrix
kernel for it. A copy's predictions are compared with the original's.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.bindings import BUILD, devices, last_errors, lib, system_info
from wim_edge.engine.context import Context, Sequence
from wim_edge.engine.gguf import TENSOR_TYPES
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import Interrupted
from wim_edge.engine.sampling import log_softmax
from wim_edge.errors import CapacityError, EngineError
from wim_edge.settings import Settings
from wim_edge.system.atomic_files import replace_file

WEIGHT_TYPES = {"Q4_0": lib.LLAMA_FTYPE_MOSTLY_Q4_0, "Q8_0": lib.LLAMA_FTYPE_MOSTLY_Q8_0,
                "F16": lib.LLAMA_FTYPE_MOSTLY_F16}  # fmt: skip
PREFILL, DECODE = 4096, 150  # the tokens of the reading whose seconds are the cost
MOST_KL = 0.01
"""The highest acceptable divergence of a copy's predictions, in nats."""
_BETTER = 0.97  # of the best cost: a smaller gain may be noise
_ROWS = 32


@dataclass(frozen=True)
class RunConfig:
    """A configuration of a model, with its measurements."""

    label: str
    path: Path
    settings: Settings
    weights: str | None
    """The weight type of a copy; None for the original file."""
    prefill: float = 0.0
    """Tokens read a second, 1,500 tokens deep if the machine is fast enough."""
    decode: float = 0.0
    divergence: float | None = None
    """The mean KL divergence of the next token, original against copy, in nats; None without a copy."""
    agreement: float | None = None
    """The share of positions with the same likeliest token in original and copy; None without a copy."""
    error: str | None = None

    @property
    def cost(self) -> float:
        """The seconds to read 4,096 tokens and write 150."""
        return PREFILL / self.prefill + DECODE / self.decode if self.prefill and self.decode else float("inf")

    @property
    def is_acceptable(self) -> bool:
        return self.divergence is None or self.divergence <= MOST_KL


def search(path: Path, settings: Settings, copies: Path | None) -> Iterator[tuple[RunConfig, RunConfig]]:
    """Measures one configuration after another; yields each with the best so far, itself included.

    Args:
        copies: a folder for copies in other weight types, named ``STEM-TYPE.gguf``; None makes none.

    Raises OSError if a copy cannot be written, EngineError and CapacityError for the file itself.
    """
    with Model(path, settings) as model:
        expected, n_threads = _predictions(model), model.n_threads
        gpu, weights = model.n_gpu_layers != 0, _commonest_type(model)
    best = _measure("as it is", path, settings)
    if best.error:
        raise EngineError(best.error, "Try another model.")
    yield best, best
    counts = dict.fromkeys((max(1, n_threads // 2), os.cpu_count() or n_threads))
    steps: list[list[tuple[str, dict[str, object]]]] = [
        [(f"{n} threads", {"n_threads": n}) for n in counts if n != n_threads and not gpu],
        [("flash attention on", {"flash_attn": True})],
        [(f"batches of {n}", {"n_batch": n}) for n in (256, 1024)],
        [("KV cache q8_0", {"kv_type": "q8_0", "flash_attn": True})],
    ]
    for step in steps:
        start = best
        for label, changes in step:
            way = _measure(label, path, start.settings.with_changes(**changes))
            best = way if _faster(way, best) else best
            yield way, best
    start = best
    for kind in () if gpu or copies is None else WEIGHT_TYPES:
        if kind.lower() != weights and copies is not None:
            way = _copy(kind, path, start.settings, copies / f"{path.stem}-{kind}.gguf", expected)
            best = way if way.is_acceptable and _faster(way, best) else best
            yield way, best


def speedup(way: RunConfig, best: RunConfig) -> float:
    """Returns how many times faster the best is. Measures both again, because other work may have slowed one down."""
    costs = [min(one.cost, _measure(one.label, one.path, one.settings).cost) for one in (way, best)]
    return costs[0] / costs[1]


def _faster(way: RunConfig, best: RunConfig) -> bool:
    return way.cost < best.cost * _BETTER and speedup(best, way) * _BETTER > 1


def requantize(source: Path, target: Path, kind: str) -> None:
    """Writes a copy of a model in another weight type (one of WEIGHT_TYPES). Raises OSError, EngineError."""
    params = lib.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = WEIGHT_TYPES[kind], True
    target.parent.mkdir(parents=True, exist_ok=True)
    last_errors()
    with replace_file(target) as part:
        if lib.llama_model_quantize(os.fsencode(source), os.fsencode(part), ctypes.byref(params)):
            raise EngineError(f"llama.cpp cannot copy {source.name} as {kind}: {last_errors()}", "Omit copies.")


def _copy(kind: str, path: Path, settings: Settings, target: Path, expected: NDArray[np.float32]) -> RunConfig:
    label = f"weights {kind}"
    try:
        requantize(path, target, kind)
    except (EngineError, OSError) as error:
        return RunConfig(label, target, settings, kind, error=f"no copy: {getattr(error, 'strerror', error)}")
    return _measure(label, target, settings, (kind, expected))


def _measure(
    label: str, path: Path, settings: Settings, copy: tuple[str, NDArray[np.float32]] | None = None
) -> RunConfig:
    """Returns the configuration with its measured speed. ``copy``: a copy's weight type, the original's predictions."""
    config = RunConfig(label, path, settings, copy[0] if copy else None)
    try:
        with Model(path, settings) as model:
            speed = measure_speed(model, 1536, warm_up=64)  # deep enough that attention counts
            config = replace(config, prefill=speed.prefill, decode=speed.decode)
            if not (speed.prefill and speed.decode):
                return replace(config, error="not finished in the time limit")
            if copy is None:
                return config
            found = _predictions(model)
    except (EngineError, CapacityError) as error:
        return replace(config, prefill=0.0, decode=0.0, error=str(error))
    divergence = float((np.exp(copy[1]) * (copy[1] - found)).sum(axis=-1).mean())
    return replace(config, divergence=divergence, agreement=float((copy[1].argmax(-1) == found.argmax(-1)).mean()))


def _predictions(model: Model) -> NDArray[np.float32]:
    """Returns the log-probabilities of the next token after each of the sample's tokens; (tokens, n_vocab)."""
    tokens, found = model.tokenize(sample_text())[:256], []
    with closing(model.context(1024)) as context, context.sequence() as sequence:
        sequence.append([*model.bos_tokens, *tokens[:_ROWS]])
        for start in range(_ROWS, len(tokens) - _ROWS, _ROWS):
            found.append(log_softmax(sequence.append(tokens[start : start + _ROWS], rows=_ROWS)))
    return np.concatenate(found).astype(np.float32)


def _commonest_type(model: Model) -> str:
    sizes: Counter[str] = Counter()
    for tensor in model.header.tensors:
        sizes[TENSOR_TYPES[tensor.type][0] if tensor.type in TENSOR_TYPES else ""] += tensor.nbytes or 0
    return max(sizes, key=sizes.__getitem__, default="")


def machine() -> str:
    """Returns a name for the processor, the devices and the build for which the measurements hold."""
    found = (platform.machine(), system_info(), os.cpu_count(), [device.description for device in devices()], BUILD)
    return repr(found)


PREFILL_SECONDS, DECODE_SECONDS = 6.0, 4.0
_DECODED = 48
_OVERTIME = 2.0  # seconds until a measurement is interrupted within a batch


@dataclass(frozen=True)
class Speed:
    """The speeds of prefill and decoding in tokens a second, and the number of tokens behind each."""

    prefill: float
    prefill_tokens: int
    decode: float
    decode_tokens: int


def sample_text() -> str:
    """Returns some pages of English."""
    return Path(__file__).with_name("sample.txt").read_text(encoding="utf-8")


def measure_speed(model: Model, n_tokens: int, *, warm_up: int = 8) -> Speed:
    """Measures the prefill of ``n_tokens`` and decoding after them, in about ten seconds at most.

    ``warm_up``: the tokens whose speed decides how many are measured.
    """
    tokens = list(islice(cycle(model.tokenize(sample_text())), n_tokens))
    with closing(model.context(n_tokens + 512)) as context, context.sequence() as sequence:
        sequence.append([*model.bos_tokens, *tokens[:8]])  # the first batch is slower
        begun = time.perf_counter()
        sequence.append(tokens[:warm_up])
        each = (time.perf_counter() - begun) / warm_up
        n = max(warm_up, min(n_tokens, int(PREFILL_SECONDS / max(each, 1e-6))))
        prefill = _timed(context, sequence, [tokens[:n]], PREFILL_SECONDS)
        decode = _timed(context, sequence, [[token] for token in tokens[:_DECODED]], DECODE_SECONDS)
        return Speed(*prefill, *decode)


def _timed(context: Context, sequence: Sequence, parts: Seq[list[int]], seconds: float) -> tuple[float, int]:
    """Returns the tokens a second, and the tokens that were evaluated in time."""
    before = len(sequence)
    watchdog = threading.Timer(seconds + _OVERTIME, context.interrupt)
    watchdog.start()
    begun = time.perf_counter()
    try:
        for part in parts:
            sequence.append(part)
            if time.perf_counter() - begun > seconds:
                break
    except Interrupted:
        pass
    finally:
        watchdog.cancel()
        context.resume()
    done = len(sequence) - before
    return done / (time.perf_counter() - begun), done
