"""The memory that a model and its context need, estimated from the GGUF header, and the memory that is free for them.
The formulas are llama.cpp's. The KV cache is cells x layers x KV heads x (key + value length). The compute buffer holds
the live tensors of the widest layer for each token of a batch. docs/results.md compares estimates with peaks."""

from __future__ import annotations

import itertools
import sys
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wim_edge.engine import available_memory
from wim_edge.engine.batches import N_OUTPUTS
from wim_edge.engine.gguf import TENSOR_TYPES, GGUFHeader
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.errors import MemoryBudgetError
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from wim_edge.engine.bindings import Device

# The share of layers with a window, by architecture, if the GGUF metadata does not contain it: llama.cpp's code does
_WINDOW_SHARE = {"gemma2": 0.5, "gemma3": 5 / 6, "gemma3n": 0.8, "gpt-oss": 0.5, "cohere2": 0.75, "llama4": 0.75}

_BYTES = {name: size / block for name, block, size in TENSOR_TYPES.values()}
_FIXED = 32 << 20  # graphs, libraries and allocator slack of every model
_VOCABULARY = 7  # bytes of the tokenizer's tables per byte of vocabulary in the file: 6.4 to 8.1 in real models
_SEGMENT = 1024  # tokens between two checkpoints of a reading
_WORK = 1.15  # bytes per activation, converted for products with 4-bit weights
_SMALLEST_BATCH = 64


@dataclass(frozen=True)
class MemoryNeed:
    """The estimated bytes for a model and its context: weights, KV cache, compute buffer and other main memory."""

    weights: int
    kv: int
    compute: int
    host: int = 0
    """Bytes that are always in main memory: the tokenizer, logits, work buffers, and the checkpoints of a reading."""

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.compute + self.host


@dataclass(frozen=True)
class FreeMemory:
    """The bytes of main memory and of GPU memory that a model and its context may take."""

    main: int
    gpu: int = 0
    offloaded: float = 0.0
    """The share of the layers on GPUs, 0 to 1."""
    in_main: float | None = None
    """The share of the layers in main memory, 0 to 1: 1 if the GPUs use main memory. None means 1 - ``offloaded``."""

    def shortage(self, need: MemoryNeed) -> tuple[str, int, int] | None:
        """Returns (name of the memory that is too small, bytes needed, bytes free), or None if ``need`` fits."""
        layers = need.weights + need.kv
        in_main = 1 - self.offloaded if self.in_main is None else self.in_main
        parts = (
            ("memory", in_main, self.main, need.compute + need.host),
            ("GPU memory", self.offloaded, self.gpu, need.compute),
        )
        for name, share, free, more in parts:
            if share and layers * share + more > free:
                return name, int(layers * share) + more, free
        return None


def padded(n_ctx: int) -> int:
    """Returns the context size rounded up to a multiple of 256, as llama.cpp does."""
    return -(-n_ctx // 256) * 256


def kv_bytes(
    header: GGUFHeader, n_ctx: int, kv_type: str = Settings.kv_type, swa_full: bool = True, n_seq_max: int = 1
) -> int:
    """Returns the bytes of a KV cache of ``n_ctx`` cells, plus the recurrent states of ``n_seq_max`` sequences."""
    length, shorter = _lengths(header)
    n_cells = padded(n_ctx)
    windowed = n_cells if swa_full else min(n_cells, padded(_window(header) * n_seq_max + 512))
    numbers = sum(n * ((1 - share) * length * n_cells + share * shorter * windowed) for n, share in _layers(header))
    return int(numbers * _BYTES[kv_type]) + _recurrent_bytes(header, n_seq_max)


def _layers(header: GGUFHeader) -> list[tuple[int, float]]:
    """Returns (number of KV heads, probability of a sliding window) for each layer that has its own KV cache."""
    heads = _kv_heads(header, header.number("attention.head_count"))
    heads = heads[: len(heads) - header.number("attention.shared_kv_layers")]  # the last layers use other layers' cache
    if not _window(header):
        return [(n, 0.0) for n in heads]
    if isinstance(header.arch("attention.sliding_window_pattern"), list):
        pattern = header.per_layer("attention.sliding_window_pattern")
        return [(n, float(one != 0)) for n, one in zip(heads, pattern, strict=False)]
    return [(n, _WINDOW_SHARE.get(header.architecture, 0.5)) for n in heads]


def _window(header: GGUFHeader) -> int:
    return header.number("attention.sliding_window")


def _lengths(header: GGUFHeader) -> tuple[int, int]:
    """Returns (key + value length of a head in a layer without a sliding window, the same in a layer with one)."""
    default = header.number("embedding_length") // max(1, header.number("attention.head_count", 1))
    whole = [header.number(f"attention.{one}_length", default) for one in ("key", "value")]
    windowed = [header.number(f"attention.{one}_length_swa", n) for one, n in zip(("key", "value"), whole, strict=True)]
    return sum(whole), sum(windowed)


def _kv_heads(header: GGUFHeader, default: int = 0) -> list[int]:
    """Returns the number of KV heads of each layer, 0 for a recurrent layer."""
    every = header.number("full_attention_interval")
    heads = header.per_layer("attention.head_count_kv", default)
    return [n if not every or at % every == 0 else 0 for at, n in enumerate(heads, 1)]


def _recurrent_bytes(header: GGUFHeader, n_seq_max: int) -> int:
    inner, state = header.number("ssm.inner_size"), header.number("ssm.state_size")
    conv, groups = header.number("ssm.conv_kernel"), header.number("ssm.group_count")
    layers = sum(1 for n in _kv_heads(header) if n == 0) or header.number("block_count")
    if inner:
        per_layer = (max(0, conv - 1)) * (inner + 2 * groups * state) + inner * state
    else:
        per_layer = max(0, header.number("shortconv.l_cache") - 1) * header.number("embedding_length")
    return 4 * per_layer * layers * n_seq_max


def estimate(
    header: GGUFHeader, n_ctx: int, n_batch: int = Settings.n_batch, kv_type: str = Settings.kv_type,
    swa_full: bool = True, n_seq_max: int = 1, flash: bool = False,
) -> MemoryNeed:  # fmt: skip
    """Estimates the memory for a model and a context. ``flash`` True: flash attention, which stores no score matrix."""
    logits = 4 * N_OUTPUTS * header.n_vocab
    scores = 0 if flash or kv_type.startswith("q") else header.number("attention.head_count", 1) * padded(n_ctx)
    compute = max(_graph_bytes(header, n_ctx, n_batch, n_seq_max, scores), logits) + logits + _FIXED
    work = int(n_batch * max(2 * scores, _WORK * _feed_forward(header)))
    # Besides the segments' checkpoints: the prompt's and a fork's, each with a recovery state; by position none
    at_work = 0 if _window(header) and swa_full else 4
    cells = min(n_ctx, _window(header)) * _lengths(header)[1]  # of a window; a checkpoint has recurrent states too
    window_bytes = int(cells * sum(n * share for n, share in _layers(header)) * _BYTES[kv_type])
    kept = (at_work + n_ctx // _SEGMENT) * (window_bytes + _recurrent_bytes(header, 1))
    host = work + logits + kept + _VOCABULARY * header.metadata_nbytes
    return MemoryNeed(header.nbytes, kv_bytes(header, n_ctx, kv_type, swa_full, n_seq_max), compute, host)


def _feed_forward(header: GGUFHeader) -> int:
    """Returns the inner width of a layer's feed-forward network, summed over its active experts."""
    inner = header.number("expert_feed_forward_length", header.number("feed_forward_length"))
    return inner * (header.number("expert_used_count") or 1)


def _graph_bytes(header: GGUFHeader, n_ctx: int, n_batch: int, n_seq_max: int, scores: int) -> int:
    """Returns the bytes of the widest layer's activations and of the masks. ``scores``: attention scores of a token."""
    n_head, width = header.number("attention.head_count", 1), header.number("embedding_length")
    size = header.number("attention.key_length", width // max(1, n_head))
    # In memory together with the scores: the residual and its norm, queries and attention output, keys and values
    live = 3 * width + 3 * n_head * size + 2 * header.number("attention.head_count_kv", n_head) * size
    masks = bool(n_head) * padded(n_ctx) * (4 if scores else 2) * (2 if _window(header) else 1)
    inner, state = header.number("ssm.inner_size"), header.number("ssm.state_size")
    mixed = 6 * inner + 2 * (inner + 2 * header.number("ssm.group_count") * state)
    states = 4 * n_seq_max * inner * state  # recurrent states of one layer
    attending = 4 * n_batch * max(scores + live, 3 * _feed_forward(header) + live)
    return max(attending, 4 * n_batch * mixed + states) + n_batch * masks


def readable(n: int) -> str:
    """Returns a number of bytes as text: "1.5 GiB", "20 MiB"."""
    return f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.0f} MiB"


# What is free


def check_weights(header: GGUFHeader, settings: Settings) -> int:
    """Returns the number of layers to put on GPUs (`gpu_layers`). Raises MemoryBudgetError if the weights don't fit."""
    layers = gpu_layers(header, settings.n_gpu_layers)
    if short := free_memory(header, layers).shortage(MemoryNeed(header.nbytes, 0, 0)):
        place, need, free = short
        raise MemoryBudgetError(
            f"{header.path.name} needs {readable(need)} of {place} for its weights, {readable(free)} are free",
            "Use a smaller model or a smaller quantization (`wim-edge models list`), other --gpu-layers, or "
            f"{available_memory.memory_hint()}.",
        )
    return layers


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
    return estimate(header, n_ctx, n_batch, settings.kv_type, swa_full, n_sequences, bool(settings.flash_attn))


def gpu_layers(header: GGUFHeader, wanted: int | None) -> int:
    """Returns the number of layers to put on GPUs (-1: all): ``wanted`` or, if None, as many as fit in GPU memory."""
    gpus = _gpus()
    if not gpus or wanted == 0:
        return 0
    if wanted is not None:
        return wanted
    n_layers = header.number("block_count")
    weights = [0] * (n_layers + 1)
    for tensor in header.tensors:
        parts = tensor.name.split(".")
        index = int(parts[1]) if parts[0] == "blk" and parts[1].isdigit() else n_layers
        weights[min(index, n_layers)] += tensor.nbytes or 0
    cache = estimate(header, min(8192, header.number("context_length", 8192)))
    # A tenth stays free for the driver and the desktop
    free = sum(gpu.free for gpu in gpus)
    if any(gpu.shares_memory for gpu in gpus):
        free = min(free, available_memory.available())
    room = free * 0.9 - cache.compute - weights.pop()
    per_layer = max(weights) + cache.kv / n_layers
    fits = int(room // per_layer) if per_layer else 0
    return -1 if fits >= n_layers else max(0, fits)


def free_memory(header: GGUFHeader, n_gpu_layers: int, mapped: int | None = None) -> FreeMemory:
    """Returns the memory that a model's weights and a context may use. Loaded weights count as free. ``mapped``: the
    bytes of the model's files that are mapped into main memory; None if the weights are not loaded yet."""
    n_layers = max(1, header.number("block_count"))
    offloaded = 1.0 if n_gpu_layers < 0 else min(1.0, n_gpu_layers / n_layers)
    loaded = 0 if mapped is None else header.nbytes
    gpus = _gpus()
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


def _gpus() -> list[Device]:
    from wim_edge.engine import bindings  # loads the native library

    return [device for device in bindings.devices() if device.is_gpu]
