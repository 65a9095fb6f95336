"""The search for a model's fastest settings on this machine, which measures one change of settings after another."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Iterator, Sequence as Seq
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from wim_edge.engine.bindings import BUILD, devices, system_info
from wim_edge.engine.context import Context, Sequence
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import Interrupted
from wim_edge.errors import CapacityError, EngineError
from wim_edge.settings import Settings

PREFILL, DECODE = 4096, 150  # tokens: a configuration's cost is the time to read and write them
_BETTER = 0.97  # a better cost is at most this share of the best cost: a smaller gain may be noise


@dataclass(frozen=True)
class RunConfig:
    """A configuration to compare: a model file with settings, a label, and the measured speeds in tokens per second."""

    label: str
    path: Path
    settings: Settings
    prefill: float = 0.0
    """The speed of prefill in tokens per second, measured over at most 1,536 tokens."""
    decode: float = 0.0
    error: str | None = None

    @property
    def cost(self) -> float:
        """The seconds to read 4,096 tokens and write 150; infinite if a speed was not measured."""
        return PREFILL / self.prefill + DECODE / self.decode if self.prefill and self.decode else float("inf")


def search(path: Path, settings: Settings) -> Iterator[tuple[RunConfig, RunConfig]]:
    """Measures one configuration after another; after each, yields (this configuration, the best configuration so far).
    Raises EngineError or CapacityError if the first configuration, with ``settings`` unchanged, cannot be measured."""
    with Model(path, settings) as model:
        n_threads, gpu = model.n_threads, model.n_gpu_layers != 0
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
            if way.cost < best.cost * _BETTER and speedup(best, way) * _BETTER > 1:
                best = way
            yield way, best


def speedup(before: RunConfig, after: RunConfig) -> float:
    """Returns how many times faster ``after`` is than ``before``. Measures both again, and uses the lower costs."""
    costs = [min(one.cost, _measure(one.label, one.path, one.settings).cost) for one in (before, after)]
    return costs[0] / costs[1]


def _measure(label: str, path: Path, settings: Settings) -> RunConfig:
    """Returns a configuration with the measured speeds, or with the error if the measurement fails."""
    try:
        with Model(path, settings) as model:
            speed = measure_speed(model, 1536, warm_up=64)  # enough tokens that attention takes time
    except (EngineError, CapacityError) as error:
        return RunConfig(label, path, settings, error=str(error))
    late = None if speed.prefill and speed.decode else "not finished in the time limit"
    return RunConfig(label, path, settings, speed.prefill, speed.decode, late)


def machine() -> str:
    """Returns an identifier of processor, devices and build of llama.cpp, on which the measurements depend."""
    return repr((platform.machine(), system_info(), os.cpu_count(), [one.description for one in devices()], BUILD))


PREFILL_SECONDS, DECODE_SECONDS = 6.0, 4.0
_DECODED = 48
_OVERTIME = 2.0  # seconds past the limit, after which a running batch is interrupted


@dataclass(frozen=True)
class Speed:
    """The speeds of prefill and decoding in tokens per second, and the number of tokens measured for each."""

    prefill: float
    prefill_tokens: int
    decode: float
    decode_tokens: int


def measure_speed(model: Model, n_tokens: int, *, warm_up: int = 8) -> Speed:
    """Measures the speed of a prefill of at most ``n_tokens`` tokens, then of decoding, in about ten seconds at most.
    If the first ``warm_up`` tokens are slow, the prefill has fewer tokens."""
    sample = Path(__file__).with_name("sample.txt").read_text(encoding="utf-8")
    tokens = list(islice(cycle(model.tokenize(sample)), n_tokens))
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
    """Appends parts in turn for about ``seconds`` at most. Returns (tokens per second, number of evaluated tokens)."""
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
