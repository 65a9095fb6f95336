"""Checks before a model's weights are loaded: free memory, layers on a GPU, the longest context, a text's tokens."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import devices, lib, load_weights, model_params
from wim_edge.engine.gguf import GGUFHeader, shards
from wim_edge.engine.memory_estimate import FreeMemory, MemoryNeed, estimate, padded, readable
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.errors import MemoryBudgetError
from wim_edge.settings import Settings

_SMALLEST_BATCH = 64


def check_weights(path: Path, settings: Settings) -> None:
    """Raises MemoryBudgetError if a model's files exceed free memory, and no GPU with memory of its own may be used."""
    if settings.n_gpu_layers not in (None, 0) or not os.path.isfile(path):
        return
    need, free = sum(part.stat().st_size for part in shards(path)), available_memory.available()
    if need > free and (settings.n_gpu_layers == 0 or all(one.shares_memory for one in devices() if one.is_gpu)):
        raise MemoryBudgetError(
            f"{path.name} needs {readable(need)} for its weights, {readable(free)} are free",
            "Use a smaller model or a smaller quantization (`wim-edge models list`), or "
            f"{available_memory.memory_hint()}.",
        )


def batch_sizes(settings: Settings) -> list[int]:
    """Returns the batch sizes to try, in tokens: the size in the settings, then half of it, and so on down to 64."""
    n = settings.n_batch
    return [n, *itertools.takewhile(lambda half: half >= _SMALLEST_BATCH, (n >> by for by in range(1, 16)))]


def context_need(
    header: GGUFHeader, settings: Settings, n_ctx: int, n_sequences: int = N_SEQUENCES, *, swa_full: bool = False,
    n_batch: int | None = None,
) -> MemoryNeed:  # fmt: skip
    """Estimates the memory for a model and a context, by default with the smallest batch and a window-sized cache."""
    n_batch = n_batch or batch_sizes(settings)[-1]
    flash = bool(settings.flash_attn)
    return estimate(header, n_ctx, n_batch, settings.kv_type, swa_full, n_sequences, flash)


def gpu_layers(header: GGUFHeader, wanted: int | None) -> int:
    """Returns the number of layers to put on GPUs (-1: all): ``wanted`` or, if None, as many as fit in GPU memory."""
    gpus = [device for device in devices() if device.is_gpu]
    if not gpus or wanted == 0:
        return 0
    if wanted is not None:
        return wanted
    n_layers = header.number("block_count")
    weights = np.zeros(n_layers + 1)
    for tensor in header.tensors:
        parts = tensor.name.split(".")
        index = int(parts[1]) if parts[0] == "blk" and parts[1].isdigit() else n_layers
        weights[min(index, n_layers)] += tensor.nbytes or 0
    cache = estimate(header, min(8192, header.number("context_length", 8192)))
    # A tenth stays free for the driver and the desktop
    free = sum(gpu.free for gpu in gpus)
    if any(gpu.shares_memory for gpu in gpus):
        free = min(free, available_memory.available())
    room = free * 0.9 - cache.compute - weights[n_layers]
    per_layer = weights[:n_layers].max() + cache.kv / n_layers
    fits = int(room // per_layer) if per_layer else 0
    return -1 if fits >= n_layers else max(0, fits)


def free_memory(header: GGUFHeader, n_gpu_layers: int, mapped: int | None = None) -> FreeMemory:
    """Returns the memory that a model's weights and a context may use. Loaded weights count as free. ``mapped``: the
    bytes of the model's files that are mapped into main memory; None if the weights are not loaded yet."""
    n_layers = max(1, header.number("block_count"))
    offloaded = 1.0 if n_gpu_layers < 0 else min(1.0, n_gpu_layers / n_layers)
    loaded = 0 if mapped is None else header.nbytes
    gpus = [device for device in devices() if device.is_gpu]
    free = sum(gpu.free for gpu in gpus) if all(gpu.total for gpu in gpus) else sys.maxsize  # some drivers report none
    in_main = 1.0 if any(gpu.shares_memory for gpu in gpus) else 1 - offloaded
    main = available_memory.available(int((mapped or 0) * in_main)) + int(loaded * in_main)
    return FreeMemory(main, free + int(loaded * offloaded), offloaded, in_main)


def largest_n_ctx(header: GGUFHeader, settings: Settings, n_ctx_train: int, free: FreeMemory) -> int:
    """Returns the longest context, in cells, that fits in memory with the weights: from 256 to ``n_ctx_train``."""
    sizes = range(256, padded(n_ctx_train) + 1, 256)
    fit = bisect_left(sizes, True, key=lambda n_ctx: free.shortage(context_need(header, settings, n_ctx)) is not None)
    best = 256 * max(1, fit)
    return min(best, n_ctx_train) if n_ctx_train > 256 else best


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
            ctypes.CDLL(None).malloc_trim(0)
