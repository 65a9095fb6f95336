"""The memory that a context needs, estimated from the GGUF header.

llama.cpp finds out by allocating, and on a small machine the system's answer is to kill the process;
so the need is compared with what is free before anything is created. The formulas are llama.cpp's: the
KV cache is cells x layers x heads x (key + value length); the compute buffer holds what lives at once in
the widest layer, for each token of a batch. docs/results.md has the estimate beside measured peaks.
"""

from __future__ import annotations

from dataclasses import dataclass

from wim_edge.engine.gguf import TENSOR_TYPES, GGUFHeader
from wim_edge.settings import Settings

# Share of the layers whose attention is windowed, where the GGUF metadata does not hold it (llama.cpp
# sets it in code, per architecture).
_WINDOW_SHARE = {"gemma2": 0.5, "gemma3": 5 / 6, "gemma3n": 0.8, "gpt-oss": 0.5, "cohere2": 0.75, "llama4": 0.75}

_BYTES = {name: size / block for name, block, size in TENSOR_TYPES.values()}
_FIXED = 32 << 20  # graphs, libraries and allocator slack seen on every model
_VOCABULARY = 7  # the tokenizer's tables beside the file's own bytes: real vocabularies take 6.4 to 8.1 times these
_SEGMENT = 1024  # tokens, after which a reading of the whole has a checkpoint
_WORK = 1.15  # bytes that a number takes where it is made ready to be multiplied with 4-bit weights


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes that a context needs, by part."""

    weights: int
    kv: int
    compute: int
    host: int = 0
    """Main memory's alone: the tokenizer, copies of what is at work, and the states that a reading can return to."""

    @property
    def total(self) -> int:
        return self.weights + self.kv + self.compute + self.host


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
        parts = (
            ("memory", in_main, self.main, need.compute + need.host),
            ("GPU memory", self.offloaded, self.gpu, need.compute),
        )
        for name, share, free, more in parts:
            if share and layers * share + more > free:
                return name, int(layers * share) + more, free
        return None


def padded(n_ctx: int) -> int:
    """Returns the context size as llama.cpp rounds it."""
    return -(-n_ctx // 256) * 256


def kv_bytes(
    header: GGUFHeader, n_ctx: int, kv_type: str = Settings.kv_type, swa_full: bool = True, n_seq_max: int = 1
) -> int:
    """Returns the bytes of the KV cache (and recurrent states) for ``n_ctx`` cells."""
    length, shorter = _lengths(header)
    window_cells = padded(n_ctx) if swa_full else min(padded(n_ctx), padded(_window(header) * n_seq_max + 512))
    cells = sum(
        n * ((1 - share) * length * padded(n_ctx) + share * shorter * window_cells) for n, share in _layers(header)
    )
    return int(cells * _BYTES[kv_type]) + _recurrent_bytes(header, n_seq_max)


def _layers(header: GGUFHeader) -> list[tuple[int, float]]:
    """Returns the KV heads of each layer with a cache of its own, and how far its attention is windowed, 0 to 1."""
    heads = _kv_heads(header, header.number("attention.head_count"))
    heads = heads[: len(heads) - header.number("attention.shared_kv_layers")]  # the last ones use the cache of others
    windowed = _window_shares(header, len(heads)) if _window(header) else [0.0] * len(heads)
    return list(zip(heads, windowed, strict=True))


def _window(header: GGUFHeader) -> int:
    return header.number("attention.sliding_window")


def _checkpoint_bytes(header: GGUFHeader, n_ctx: int, kv_type: str) -> int:
    """Returns the bytes of what it takes to come back to a place: recurrent states, or a window's cells."""
    cells = min(n_ctx, _window(header)) * _lengths(header)[1]
    return int(cells * sum(n * share for n, share in _layers(header)) * _BYTES[kv_type]) + _recurrent_bytes(header, 1)


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
    flash: bool = False,
) -> MemoryNeed:
    """Estimates what a context of ``n_ctx`` cells needs, in bytes. ``flash``: attention keeps no scores."""
    logits = 4 * _OUTPUTS * header.n_vocab
    scores = 0 if flash or kv_type.startswith("q") else header.number("attention.head_count", 1) * padded(n_ctx)
    compute = max(_graph_bytes(header, n_ctx, n_batch, n_seq_max, scores), logits) + logits + _FIXED
    work = int(n_batch * max(2 * scores, _WORK * _feed_forward(header)))
    # Beside the segments' those of the opening, a fork, and what each of the two is evaluating, where cells do not do
    at_work = 0 if _window(header) and swa_full else 4
    kept = (at_work + n_ctx // _SEGMENT) * _checkpoint_bytes(header, n_ctx, kv_type)
    host = work + logits + kept + _VOCABULARY * header.metadata_nbytes
    return MemoryNeed(header.nbytes, kv_bytes(header, n_ctx, kv_type, swa_full, n_seq_max), compute, host)


def _feed_forward(header: GGUFHeader) -> int:
    """Returns the numbers within the feed-forward network, of all experts that are at work."""
    inner = header.number("expert_feed_forward_length", header.number("feed_forward_length"))
    return inner * (header.number("expert_used_count") or 1)


def _graph_bytes(header: GGUFHeader, n_ctx: int, n_batch: int, n_seq_max: int, scores: int) -> int:
    """Returns the bytes of the widest layer's activations and of the attention masks. ``scores``: those of a token."""
    n_head, width = header.number("attention.head_count", 1), header.number("embedding_length")
    size = header.number("attention.key_length", width // max(1, n_head))
    # What lives beside the scores: the residual and its norm, the queries and what comes of them, keys and values
    live = 3 * width + 3 * n_head * size + 2 * header.number("attention.head_count_kv", n_head) * size
    masks = bool(n_head) * padded(n_ctx) * (4 if scores else 2) * (2 if _window(header) else 1)
    inner, state = header.number("ssm.inner_size"), header.number("ssm.state_size")
    mixed = 6 * inner + 2 * (inner + 2 * header.number("ssm.group_count") * state)
    states = 4 * n_seq_max * inner * state  # of one layer
    attending = 4 * n_batch * max(scores + live, 3 * _feed_forward(header) + live)
    return max(attending, 4 * n_batch * mixed + states) + n_batch * masks


def readable(n: int) -> str:
    """Returns bytes in a form for people."""
    return f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.0f} MiB"
