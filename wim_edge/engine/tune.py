"""The search, by measuring, for the fastest way of running a model on this machine.

One thing after the other is varied from the best so far: threads, flash attention, batch size, the KV
cache's type, then copies of the model in other weight types. A weight type without a fast matrix kernel
on this processor costs more than its smaller size saves; the change that a copy makes to the model's
predictions is measured too.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wim_edge.atomic_files import replace_file
from wim_edge.engine.bindings import devices, last_errors, lib
from wim_edge.engine.model import Model
from wim_edge.errors import CapacityError, EngineError
from wim_edge.settings import Settings

WEIGHT_TYPES = {"Q4_0": lib.LLAMA_FTYPE_MOSTLY_Q4_0, "Q8_0": lib.LLAMA_FTYPE_MOSTLY_Q8_0,
                "F16": lib.LLAMA_FTYPE_MOSTLY_F16}  # fmt: skip
PREFILL, DECODE = 4096, 150  # tokens of the reading that a way is judged by: what it reads, what it writes
MOST_KL = 0.01
"""The divergence of predictions, in nats, above which a copy is not taken."""
_BETTER = 0.97  # of the cost so far: less of a gain may be noise
_SECONDS = 8.0  # at most for one measurement, about
_ROWS = 32


@dataclass(frozen=True)
class RunConfig:
    """A way of running a model, and what was measured of it."""

    label: str
    path: Path
    settings: Settings
    weights: str | None
    """The weight type of a copy; None: the file as it is."""
    prefill: float
    """The tokens read a second, 1,500 tokens deep if the machine is fast enough."""
    decode: float
    divergence: float | None = None
    """The mean KL divergence of the next token, original against copy, in nats; None without a copy."""
    agreement: float | None = None
    """The share of places where original and copy find the same token likeliest; None without a copy."""
    error: str | None = None

    @property
    def cost(self) -> float:
        """The seconds to read 4,096 tokens and write 150."""
        return PREFILL / self.prefill + DECODE / self.decode if self.prefill and self.decode else float("inf")

    @property
    def is_acceptable(self) -> bool:
        return self.divergence is None or self.divergence <= MOST_KL


def search(path: Path, settings: Settings, copies: Path | None) -> Iterator[tuple[RunConfig, RunConfig]]:
    """Measures one way after another; yields each with the best so far, itself included.

    Args:
        copies: a folder for copies in other weight types, named ``STEM-TYPE.gguf``; None: none are made.

    Raises OSError where a copy cannot be written, EngineError, CapacityError for the file itself.
    """
    text = _text()
    with Model(path, settings) as model:
        expected, n_threads = _predictions(model, text), model.n_threads
        gpu, weights = model.n_gpu_layers != 0, _commonest_type(model)
    best = _measure("as it is", path, settings, text, None)
    if best.error:
        raise EngineError(best.error, "Try another model.")
    yield best, best
    steps: list[list[tuple[str, dict[str, object]]]] = [
        [(f"{n} threads", {"n_threads": n}) for n in _thread_counts(n_threads) if not gpu],
        [("flash attention on", {"flash_attn": True})],
        [(f"batches of {n}", {"n_batch": n}) for n in (256, 1024)],
        [("KV cache q8_0", {"kv_type": "q8_0", "flash_attn": True})],
    ]
    for step in steps:
        start = best
        for label, changes in step:
            way = _measure(label, path, start.settings.with_changes(**changes), text, None)
            best = way if _faster(way, best) else best
            yield way, best
    start = best
    for kind in () if gpu or copies is None else WEIGHT_TYPES:
        if kind != weights and copies is not None:
            way = _copy(kind, path, start.settings, copies / f"{path.stem}-{kind}.gguf", text, expected)
            best = way if way.is_acceptable and _faster(way, best) else best
            yield way, best


def speedup(way: RunConfig, best: RunConfig) -> float:
    """Returns how many times as fast the best is, both measured again: other work makes machines slow for a while."""
    costs = [min(one.cost, _measure(one.label, one.path, one.settings, _text(), None).cost) for one in (way, best)]
    return costs[0] / costs[1]


def _faster(way: RunConfig, best: RunConfig) -> bool:
    return way.cost < best.cost * _BETTER and speedup(best, way) * _BETTER > 1


def _text() -> str:
    return Path(__file__).with_name("sample.txt").read_text(encoding="utf-8")


def requantize(source: Path, target: Path, kind: str) -> None:
    """Writes a copy of a model in another weight type (one of WEIGHT_TYPES). Raises OSError, EngineError."""
    params = lib.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = WEIGHT_TYPES[kind], True
    target.parent.mkdir(parents=True, exist_ok=True)
    last_errors()
    with replace_file(target) as part:
        if lib.llama_model_quantize(os.fsencode(source), os.fsencode(part), ctypes.byref(params)):
            raise EngineError(f"llama.cpp cannot copy {source.name} as {kind}: {last_errors()}", "Leave copies away.")


def _copy(
    kind: str, path: Path, settings: Settings, target: Path, text: str, expected: NDArray[np.float32]
) -> RunConfig:
    label = f"weights {kind}"
    try:
        requantize(path, target, kind)
        return _measure(label, target, settings, text, (kind, expected))
    except (EngineError, CapacityError) as error:
        return RunConfig(label, target, settings, kind, 0.0, 0.0, error=str(error))
    except OSError as error:
        return RunConfig(label, target, settings, kind, 0.0, 0.0, error=f"no copy: {error.strerror}")


def _measure(
    label: str, path: Path, settings: Settings, text: str, copy: tuple[str, NDArray[np.float32]] | None
) -> RunConfig:
    kind = copy[0] if copy else None
    try:
        with Model(path, settings) as model:
            prefill, decode = _speed(model, text)
            if copy is None:
                return RunConfig(label, path, settings, kind, prefill, decode)
            found = _predictions(model, text)
    except (EngineError, CapacityError) as error:
        return RunConfig(label, path, settings, kind, 0.0, 0.0, error=str(error))
    divergence = float((np.exp(copy[1]) * (copy[1] - found)).sum(axis=-1).mean())
    agreement = float((copy[1].argmax(-1) == found.argmax(-1)).mean())
    return RunConfig(label, path, settings, kind, prefill, decode, divergence, agreement)


def _speed(model: Model, text: str) -> tuple[float, float]:
    """Measures prefill and decode, in tokens a second; deep enough that attention counts, if the machine is fast."""
    context = model.context(2048)
    tokens = list(islice(cycle(model.tokenize(text)), 1536))
    try:
        with context.sequence() as sequence:
            sequence.append([*model.bos_tokens, *tokens[:8]])
            begun = time.perf_counter()
            sequence.append(tokens[:64])
            per_token = (time.perf_counter() - begun) / 64
            n = max(64, min(len(tokens), int(_SECONDS / per_token)))
            begun = time.perf_counter()
            sequence.append(tokens[:n])
            prefill = n / (time.perf_counter() - begun)
            begun, m = time.perf_counter(), 0
            while m < 48 and (m < 4 or time.perf_counter() - begun < _SECONDS / 2):
                sequence.append(tokens[m : m + 1])
                m += 1
            return prefill, m / (time.perf_counter() - begun)
    finally:
        context.close()


def _predictions(model: Model, text: str) -> NDArray[np.float32]:
    """Returns the log-probabilities of the next token after each of the text's tokens; (tokens, n_vocab)."""
    from wim_edge.engine.sampling import log_softmax

    context = model.context(1024)
    tokens, found = model.tokenize(text)[:256], []
    try:
        with context.sequence() as sequence:
            sequence.append([*model.bos_tokens, *tokens[:_ROWS]])
            for start in range(_ROWS, len(tokens) - _ROWS, _ROWS):
                found.append(log_softmax(sequence.append(tokens[start : start + _ROWS], rows=_ROWS)))
    finally:
        context.close()
    return np.concatenate(found).astype(np.float32)


def _thread_counts(n: int) -> list[int]:
    logical = os.cpu_count() or n
    return [count for count in dict.fromkeys((max(1, n // 2), logical)) if count != n]


def _commonest_type(model: Model) -> str:
    from wim_edge.engine.gguf import TENSOR_TYPES

    sizes: dict[str, int] = {}
    for tensor in model.header.tensors:
        name = TENSOR_TYPES[tensor.type][0] if tensor.type in TENSOR_TYPES else ""
        sizes[name] = sizes.get(name, 0) + (tensor.nbytes or 0)
    return max(sizes, key=lambda name: sizes[name]) if sizes else ""


def machine() -> str:
    """Names what the figures hold for: processor, devices and build."""
    import platform

    from wim_edge.engine.bindings import BUILD, system_info

    found = (platform.machine(), system_info(), os.cpu_count(), [device.description for device in devices()], BUILD)
    return repr(found)
