"""The speed of a model on this machine, measured in a bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence as Seq
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from wim_edge.engine.context import Context
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import Interrupted
from wim_edge.engine.sequence import Sequence

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
    """Measures the prefill of so many tokens and decoding after them, in about ten seconds at most.

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
