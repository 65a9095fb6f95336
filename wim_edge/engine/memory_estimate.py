"""The memory that a context needs, estimated from the GGUF header.

llama.cpp finds out by allocating, and on a small machine the system's answer is to kill the process;
so the need is compared with what is free before anything is created. Formulas: LLAMA's KV cache is
cells x layers x heads x (key + value length); the compute buffer is dominated by the attention scores
of one batch and by the logits.
"""

from __future__ import annotations

from dataclasses import dataclass

from wim_edge.engine.gguf import TENSOR_TYPES, GGUFHeader
from wim_edge.settings import Settings

# Share of the layers whose attention is windowed, where the GGUF metadata does not hold it (llama.cpp
# sets it in code, per architecture).
_WINDOW_SHARE = {"gemma2": 0.5, "gemma3": 5 / 6, "gemma3n": 0.8, "gpt-oss": 0.5, "cohere2": 0.75, "llama4": 0.75}

_BYTES = {name: size / block for name, block, size in TENSOR_TYPES.values()}
_FIXED = 32 << 20  # graph, output buffers and allocator slack seen on every model


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes that a context needs, by part."""

    weights: int
    kv: int
    compute: int

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.compute


@dataclass(frozen=True)
class FreeMemory:
    """The bytes that a model and its context may take of main memory, and of GPU memory for the layers on GPUs."""

    main: int
    gpu: int = 0
    offloaded: float = 0.0
    """The share of the layers that is on the GPUs, 0 to 1."""
    in_main: float | None = None
    """The share of them that takes main memory; None: what is not on the GPUs. All of them do where GPUs share it."""

    def shortage(self, need: MemoryNeed) -> tuple[str, int, int] | None:
        """Returns the memory that does not hold its part, the bytes needed of it and those free; None if all fits."""
        layers = need.weights + need.kv
        in_main = 1 - self.offloaded if self.in_main is None else self.in_main
        parts = (("memory", in_main, self.main), ("GPU memory", self.offloaded, self.gpu))
        for name, share, free in parts:
            if share and layers * share + need.compute > free:
                return name, int(layers * share) + need.compute, free
        return None


def padded(n_ctx: int) -> int:
    """Returns the context size as llama.cpp rounds it."""
    return -(-n_ctx // 256) * 256


def kv_bytes(
    header: GGUFHeader, n_ctx: int, kv_type: str = Settings.kv_type, swa_full: bool = True, n_seq_max: int = 1
) -> int:
    """Returns the bytes of the KV cache (and recurrent states) for ``n_ctx`` cells."""
    heads = _kv_heads(header, header.number("attention.head_count"))
    heads = heads[: len(heads) - header.number("attention.shared_kv_layers")]  # the last ones use the cache of others
    length, shorter = _lengths(header)
    window = header.number("attention.sliding_window")
    windowed = _window_shares(header, len(heads)) if window else [0.0] * len(heads)
    window_cells = padded(n_ctx) if swa_full else min(padded(n_ctx), padded(window * n_seq_max + 512))
    cells = sum(
        n * ((1 - share) * length * padded(n_ctx) + share * shorter * window_cells)
        for n, share in zip(heads, windowed, strict=True)
    )
    return int(cells * _BYTES[kv_type]) + _recurrent_bytes(header, n_seq_max)


def _lengths(header: GGUFHeader) -> tuple[int, int]:
    """Returns the length of a head's key and value together, and that of a layer with a window."""
    default = header.number("embedding_length") // max(1, header.number("attention.head_count", 1))
    whole = [header.number(f"attention.{one}_length", default) for one in ("key", "value")]
    windowed = [
        header.number(f"attention.{one}_length_swa", n) for one, n in zip(("key", "value"), whole, strict=True)
    ]
    return sum(whole), sum(windowed)


def _kv_heads(header: GGUFHeader, default: int = 0) -> list[int]:
    """Returns the KV heads of each layer, 0 for a recurrent one."""
    every = header.number("full_attention_interval")
    heads = header.per_layer("attention.head_count_kv", default)
    return [n if not every or at % every == 0 else 0 for at, n in enumerate(heads, 1)]


def _window_shares(header: GGUFHeader, n_layers: int) -> list[float]:
    """Returns 1 for each layer whose attention is windowed; where the header does not say which, their share."""
    if isinstance(header.arch("attention.sliding_window_pattern"), list):
        return [float(one != 0) for one in header.per_layer("attention.sliding_window_pattern")[:n_layers]]
    return [_WINDOW_SHARE.get(header.architecture, 0.5)] * n_layers


def _recurrent_bytes(header: GGUFHeader, n_seq_max: int) -> int:
    inner, state = header.number("ssm.inner_size"), header.number("ssm.state_size")
    conv, groups = header.number("ssm.conv_kernel"), header.number("ssm.group_count")
    layers = sum(1 for n in _kv_heads(header) if n == 0) or header.number("block_count")
    if inner:
        per_layer = (max(0, conv - 1)) * (inner + 2 * groups * state) + inner * state
    else:
        per_layer = max(0, header.number("shortconv.l_cache") - 1) * header.number("embedding_length")
    return 4 * per_layer * layers * n_seq_max


_OUTPUTS = 32
"""The most rows of logits of a batch (`Context.N_OUTPUTS`)."""


def estimate(
    header: GGUFHeader,
    n_ctx: int,
    n_batch: int = Settings.n_batch,
    kv_type: str = Settings.kv_type,
    swa_full: bool = True,
    n_seq_max: int = 1,
) -> MemoryNeed:
    """Estimates what a context of ``n_ctx`` cells needs, in bytes."""
    n_head, width = header.number("attention.head_count", 1), header.number("embedding_length")
    wide = max(4 * width, header.number("feed_forward_length"))
    scores = n_head * padded(n_ctx) * n_batch * 4 + padded(n_ctx) * n_batch * 4
    compute = scores + n_batch * (wide + 6 * width) * 4 + _OUTPUTS * header.n_vocab * 4 * 2
    return MemoryNeed(
        header.nbytes, kv_bytes(header, n_ctx, kv_type, swa_full, n_seq_max), int(compute) + _FIXED
    )


def readable(n: int) -> str:
    """Returns bytes in a form for people."""
    return f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.0f} MiB"
