"""How fast a model reads and writes here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from wim_edge.engine.context import Context
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import Interrupted
from wim_edge.engine.sequence import Sequence

_DECODED = 48
_OVERTIME = 2.0  # seconds


@dataclass(frozen=True)
class Speed:
    """Tokens a second, over so many tokens."""

    prefill: float
    prefill_tokens: int
    decode: float
    decode_tokens: int


def sample_text() -> str:
    """Returns some pages of English."""
    return Path(__file__).with_name("sample.txt").read_text(encoding="utf-8")


def measure_speed(model: Model, n_tokens: int, n_probe: int, seconds: float) -> Speed:
    """Measures prefill of ``n_tokens`` tokens, and decoding behind them, in about ``seconds`` each at most.

    A first batch of ``n_probe`` tokens tells how many may be tried; a watchdog stops what still takes too long.
    """
    context = model.context(n_tokens + 512)
    tokens = list(islice(cycle(model.tokenize(sample_text())), n_tokens))
    try:
        with context.sequence() as sequence:
            sequence.append([*model.bos_tokens, *tokens[:8]])  # warms up
            started = time.perf_counter()
            sequence.append(tokens[:n_probe])
            per_token = (time.perf_counter() - started) / n_probe
            n = max(n_probe, min(n_tokens, int(seconds / max(per_token, 1e-6))))
            prefill = _timed(context, sequence, _parts(tokens[:n], model.settings.n_batch), seconds)
            decode = _timed(context, sequence, _parts(tokens[:_DECODED], 1), seconds / 2)
            return Speed(*prefill, *decode)
    finally:
        context.close()


def _parts(tokens: list[int], size: int) -> Iterator[list[int]]:
    return (tokens[start : start + size] for start in range(0, len(tokens), size))


def _timed(context: Context, sequence: Sequence, parts: Iterator[list[int]], seconds: float) -> tuple[float, int]:
    """Tokens a second, and tokens done before the time was up."""
    before = len(sequence)
    watchdog = threading.Timer(seconds + _OVERTIME, context.interrupt)
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
    done = len(sequence) - before
    return done / (time.perf_counter() - started), done
