"""What a model's file tells before its weights are loaded: whether memory holds them, how long a context it would hold
beside them, and how many tokens a text has."""

from __future__ import annotations

import ctypes
import itertools
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wim_edge.engine import budget, memory
from wim_edge.engine.api import N_SEQUENCES
from wim_edge.engine.gguf import GGUFHeader, shards
from wim_edge.engine.native import devices, last_errors, lib
from wim_edge.errors import MemoryBudgetError, ModelFileError
from wim_edge.settings import Settings

_SMALLEST_BATCH = 64


def check_weights(path: Path, settings: Settings) -> None:
    """Whether memory holds a model's file, which is known before it is opened. Raises MemoryBudgetError."""
    if settings.n_gpu_layers not in (None, 0) or not os.path.isfile(path):
        return
    need, free = sum(part.stat().st_size for part in shards(path)), budget.available()
    if need > free and not any(device.is_gpu for device in devices()):
        raise MemoryBudgetError(
            f"{path.name} needs {memory.readable(need)} for its weights, {memory.readable(free)} are free",
            f"Use a smaller model or a smaller quantization (`wim-edge models list`), or {budget.relief()}.",
        )


def batches(settings: Settings) -> list[int]:
    """Tokens of a batch, by halves: what is set first."""
    n = settings.n_batch
    return [n, *itertools.takewhile(lambda half: half >= _SMALLEST_BATCH, (n >> by for by in range(1, 16)))]


def largest_n_ctx(header: GGUFHeader, settings: Settings, n_ctx_train: int, free: int) -> int:
    """The longest context that ``free`` bytes hold beside the weights, or the shortest that there is."""

    def need(n_ctx: int) -> int:
        return memory.estimate(header, n_ctx, batches(settings)[-1], settings.kv_type, False, N_SEQUENCES).total

    sizes = range(256, memory.padded(n_ctx_train) + 1, 256)
    best = 256 * max(1, bisect_right(sizes, free, key=need))
    return min(best, n_ctx_train) if n_ctx_train > 256 else best


@contextmanager
def vocabulary(path: Path) -> Iterator[Callable[[str], int]]:
    """Tells how many tokens a text has, by the file's vocabulary alone. Raises ModelFileError."""
    params = lib.llama_model_default_params()
    params.vocab_only = True
    last_errors()
    handle = lib.llama_model_load_from_file(os.fsencode(path), params)
    if not handle:
        raise ModelFileError(f"{path}: llama.cpp cannot load its vocabulary: {last_errors()}", "Fetch another model.")
    vocab = lib.llama_model_get_vocab(handle)

    def count(text: str) -> int:
        data = text.encode("utf-8", "replace")
        return abs(int(lib.llama_tokenize(vocab, data, len(data), None, 0, False, False)))

    try:
        yield count
    finally:
        lib.llama_model_free(handle)
        with suppress(AttributeError, OSError, TypeError):  # glibc alone has it, and keeps what is freed: up to 40 MB
            ctypes.CDLL(None).malloc_trim(0)
