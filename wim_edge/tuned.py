"""Measurements of models on this machine: reading speeds, and the search for a model's fastest settings.
The settings found are in the configuration folder, in ``tuned``, which has a file for each model. ``speeds.json`` is in
the cache folder. A file that cannot be read counts as missing."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping, Sequence as Seq
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from wim_edge.engine.protocols import Context, Interrupted, Model, Sequence
from wim_edge.errors import CapacityError, EngineError, InvalidRequestError, LibraryError
from wim_edge.settings import Paths, Settings, read_small_file
from wim_edge.system.atomic_files import write_json, write_text

TUNABLE = ("n_threads", "flash_attn", "n_batch", "kv_type")
_MIN_TOKENS = 256
"""The fewest tokens of a reading whose speed is saved."""
_MAX_SPEEDS = 64
"""The most models whose speeds are kept."""
PREFILL, DECODE = 4096, 150  # tokens: a configuration's cost is the time to read and write them
PREFILL_SECONDS, DECODE_SECONDS = 6.0, 4.0
_DECODED = 48
_OVERTIME = 2.0  # seconds past the limit, after which a running batch is interrupted
_BETTER = 0.97  # a better cost is at most this share of the best cost: a smaller gain may be noise


# What was found, on disk


def load(model: Path) -> dict[str, Any]:
    """Returns the settings that tune found for a model's file; empty if none, or if file, machine or build changed."""
    entry = _read(_store(model))
    try:
        if entry["file"] != _file(model) or entry["machine"] != machine():
            return {}
        known = {name: value for name, value in entry["settings"].items() if name in TUNABLE}
        Settings(**known)  # raises if the file was edited to an invalid value
        return known
    except (KeyError, TypeError, AttributeError, OSError, InvalidRequestError):  # anyone may edit the file
        return {}


def save(model: Path, settings: Mapping[str, Any] | None) -> None:
    """Saves the fastest settings for a model's file; if ``settings`` is None, removes the saved ones. Raises
    LibraryError."""
    store = _store(model)
    try:
        if settings is None:
            store.unlink(missing_ok=True)
            return
        store.parent.mkdir(parents=True, exist_ok=True)
        entry = {"model": str(model.absolute()), "file": _file(model), "machine": machine(), "settings": dict(settings)}
        write_json(store, entry)
    except OSError as error:
        hint = "Free some space, and tune again."
        raise LibraryError(f"{store}: what tune found cannot be saved ({error.strerror})", hint) from error


def changes(settings: Settings) -> dict[str, Any]:
    """Returns the tunable settings that differ from their defaults."""
    return {name: getattr(settings, name) for name in TUNABLE if getattr(settings, name) != getattr(Settings, name)}


def known_speed(model: Model) -> float | None:
    """Returns the speed of the model's last long reading here, in tokens a second; None if there was none."""
    try:
        speed = _read(_speeds()).get(model.fingerprint)
    except OSError:  # the model's file is gone
        return None
    return float(speed) if isinstance(speed, int | float) and 1e-3 < speed < 1e9 else None


def note_speed(model: Model, tokens: int, seconds: float) -> None:
    """Saves the speed of a reading, ``tokens / seconds``, if ``tokens`` is at least 256."""
    if tokens < _MIN_TOKENS or seconds <= 0:
        return
    with suppress(OSError):
        speeds = {**_read(_speeds()), model.fingerprint: round(tokens / seconds, 1)}
        _speeds().parent.mkdir(parents=True, exist_ok=True)
        write_text(_speeds(), json.dumps(dict(list(speeds.items())[-_MAX_SPEEDS:])))


def _read(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; empty if there is none or it can't be read."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_small_file(path))
        return found if isinstance(found, dict) else {}
    return {}


def _store(model: Path) -> Path:
    name = hashlib.blake2b(os.fsencode(model.absolute()), digest_size=12).hexdigest()
    return Paths.from_environment().config / "tuned" / f"{name}.json"


def _speeds() -> Path:
    return Paths.from_environment().cache / "speeds.json"


def _file(model: Path) -> list[int]:
    state = os.stat(model)
    return [state.st_size, state.st_mtime_ns]


def machine() -> str:
    """Returns an identifier of processor, devices and build of llama.cpp, on which the measurements depend."""
    from wim_edge.engine.bindings import BUILD, devices, system_info

    return repr((platform.machine(), system_info(), os.cpu_count(), [one.description for one in devices()], BUILD))


# The search


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
    from wim_edge.engine.model import Model

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
        for label, changed in step:
            way = _measure(label, path, start.settings.with_changes(**changed))
            if way.cost < best.cost * _BETTER and speedup(best, way) * _BETTER > 1:
                best = way
            yield way, best


def speedup(before: RunConfig, after: RunConfig) -> float:
    """Returns how many times faster ``after`` is than ``before``. Measures both again, and uses the lower costs."""
    costs = [min(one.cost, _measure(one.label, one.path, one.settings).cost) for one in (before, after)]
    return costs[0] / costs[1]


def _measure(label: str, path: Path, settings: Settings) -> RunConfig:
    """Returns a configuration with the measured speeds, or with the error if the measurement fails."""
    from wim_edge.engine.model import Model

    try:
        with Model(path, settings) as model:
            speed = measure_speed(model, 1536, warm_up=64)  # enough tokens that attention takes time
    except (EngineError, CapacityError) as error:
        return RunConfig(label, path, settings, error=str(error))
    late = None if speed.prefill and speed.decode else "not finished in the time limit"
    return RunConfig(label, path, settings, speed.prefill, speed.decode, late)


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
