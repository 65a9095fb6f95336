"""The search, by measuring, for the fastest way of running a model on this machine.

One thing after the other is varied from the best so far: threads, flash attention, batch size, the KV
cache's type, then copies of the model in other weight types. A weight type without a fast matrix kernel
on this processor costs more than its smaller size saves; the change that a copy makes to the model's
predictions is measured too.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.benchmark import measure_speed, sample_text
from wim_edge.engine.bindings import devices, last_errors, lib
from wim_edge.engine.model import Model
from wim_edge.errors import CapacityError, EngineError
from wim_edge.settings import Settings
from wim_edge.system.atomic_files import replace_file

WEIGHT_TYPES = {"Q4_0": lib.LLAMA_FTYPE_MOSTLY_Q4_0, "Q8_0": lib.LLAMA_FTYPE_MOSTLY_Q8_0,
                "F16": lib.LLAMA_FTYPE_MOSTLY_F16}  # fmt: skip
PREFILL, DECODE = 4096, 150  # tokens of the reading that a way is judged by: what it reads, what it writes
MOST_KL = 0.01
"""The divergence of predictions, in nats, above which a copy is not taken."""
_BETTER = 0.97  # of the cost so far: less of a gain may be noise
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
    with Model(path, settings) as model:
        expected, n_threads = _predictions(model), model.n_threads
        gpu, weights = model.n_gpu_layers != 0, _commonest_type(model)
    best = _measure("as it is", path, settings)
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
    """Returns how many times as fast the best is, both measured again: other work makes machines slow for a while."""
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
            raise EngineError(f"llama.cpp cannot copy {source.name} as {kind}: {last_errors()}", "Leave copies away.")


def _copy(kind: str, path: Path, settings: Settings, target: Path, expected: NDArray[np.float32]) -> RunConfig:
    label = f"weights {kind}"
    try:
        requantize(path, target, kind)
    except (EngineError, OSError) as error:
        return RunConfig(label, target, settings, kind, 0.0, 0.0, error=f"no copy: {getattr(error, 'strerror', error)}")
    return _measure(label, target, settings, (kind, expected))


def _measure(
    label: str, path: Path, settings: Settings, copy: tuple[str, NDArray[np.float32]] | None = None
) -> RunConfig:
    kind = copy[0] if copy else None
    try:
        with Model(path, settings) as model:
            speed = measure_speed(model, 1536, warm_up=64)  # deep enough that attention counts
            late = None if speed.prefill and speed.decode else "not done in the seconds that it is given"
            if copy is None or late:
                return RunConfig(label, path, settings, kind, speed.prefill, speed.decode, error=late)
            found = _predictions(model)
    except (EngineError, CapacityError) as error:
        return RunConfig(label, path, settings, kind, 0.0, 0.0, error=str(error))
    divergence = float((np.exp(copy[1]) * (copy[1] - found)).sum(axis=-1).mean())
    agreement = float((copy[1].argmax(-1) == found.argmax(-1)).mean())
    return RunConfig(label, path, settings, kind, speed.prefill, speed.decode, divergence, agreement)


def _predictions(model: Model) -> NDArray[np.float32]:
    """Returns the log-probabilities of the next token after each of the sample's tokens; (tokens, n_vocab)."""
    from wim_edge.engine.sampling import log_softmax

    context = model.context(1024)
    tokens, found = model.tokenize(sample_text())[:256], []
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

    sizes: Counter[str] = Counter()
    for tensor in model.header.tensors:
        sizes[TENSOR_TYPES[tensor.type][0] if tensor.type in TENSOR_TYPES else ""] += tensor.nbytes or 0
    return max(sizes, key=sizes.__getitem__, default="")


def machine() -> str:
    """Names what the figures hold for: processor, devices and build."""
    import platform

    from wim_edge.engine.bindings import BUILD, system_info

    found = (platform.machine(), system_info(), os.cpu_count(), [device.description for device in devices()], BUILD)
    return repr(found)
