"""The header of a GGUF file, read and checked before llama.cpp opens the file: llama.cpp returns NULL without a reason
for most bad files, and aborts on some. For 262,000 tokens the `gguf` package takes 17 s, this module 0.2 s."""

from __future__ import annotations

import errno
import math
import mmap
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from wim_edge.errors import MemoryBudgetError, ModelFileError

MetaValue = int | float | bool | str | list[int] | list[float] | list[bool] | list[str]

# GGUF value types: scalar type number -> struct code
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
_LONGEST_KEPT_ARRAY = 4096  # elements: lists over layers are kept, vocabularies only counted

# ggml tensor types: number -> (name, elements per block, bytes per block)
TENSOR_TYPES = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34), 9: ("q8_1", 32, 36), 10: ("q2_k", 256, 84),
    11: ("q3_k", 256, 110), 12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210),
    15: ("q8_k", 256, 292), 16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136), 24: ("i8", 1, 1), 25: ("i16", 1, 2), 26: ("i32", 1, 4), 27: ("i64", 1, 8),
    28: ("f64", 1, 8), 29: ("iq1_m", 256, 56), 30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54),
    35: ("tq2_0", 256, 66), 39: ("mxfp4", 32, 17),
}  # fmt: skip
_GIVE = "Give the path of a .gguf model, or a name that `wim-edge models list` shows."
_REFUSED = "This file cannot be used; fetch another model."
WEIGHT_TYPES = ("Q8_0", "F16")
"""The weight types, by llama.cpp's names, to which `bindings.requantize` can convert a model."""
_POOLING = (1, 2, 3)  # enum llama_pooling_type: mean, cls, last; 0 is none, 4 ranks pairs of texts
_ROPE_SCALINGS = {"none", "linear", "yarn", "longrope"}


@dataclass(frozen=True)
class Tensor:
    """A tensor in a GGUF header. ``shape``: innermost dimension first; ``nbytes``: None for an unknown ``type``."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    nbytes: int | None


@dataclass(frozen=True)
class GGUFHeader:
    """The header of a GGUF file, checked against the file's size."""

    path: Path
    metadata: dict[str, MetaValue]
    tensors: tuple[Tensor, ...]
    n_vocab: int
    nbytes: int
    """The size in bytes of the file, or of all files of a split model."""
    metadata_nbytes: int = 0
    """The number of bytes before the first weight. The vocabulary takes most of these bytes."""

    @property
    def architecture(self) -> str:
        return str(self.metadata["general.architecture"])

    @property
    def chat_template(self) -> str | None:
        template = self.metadata.get("tokenizer.chat_template")
        return template if isinstance(template, str) and template.strip() else None

    @property
    def weight_types(self) -> frozenset[int]:
        """The weight types that the tensors have (enum ggml_type)."""
        return frozenset(tensor.type for tensor in self.tensors)

    def arch(self, key: str) -> MetaValue | None:
        """Returns the metadata value of the key ``{architecture}.{key}``, or None if the header has no such key."""
        return self.metadata.get(f"{self.architecture}.{key}")

    @property
    def reads_both_ways(self) -> bool:
        """True for models like BERT, which attend in both directions: they embed texts and cannot generate."""
        return self.metadata.get("tokenizer.ggml.model") == "bert" or self.arch("attention.causal") is False

    @property
    def embeds(self) -> bool:
        """True for a model trained to embed texts: the model pools a text's token vectors into one vector."""
        pooling = self.arch("pooling_type")
        return pooling in _POOLING or (pooling is None and self.reads_both_ways)

    def number(self, key: str, default: int = 0) -> int:
        """Returns the metadata value of ``{architecture}.{key}`` as an integer; if it is a list, the largest number."""
        return max(self._numbers(key, default), default=default)

    def _numbers(self, key: str, default: int) -> list[int]:
        value = self.arch(key)
        try:
            return [int(v) for v in (value if isinstance(value, list) else [default if value is None else value])]
        except (ValueError, OverflowError):
            raise ModelFileError(f"{self.path}: {key} is {value!r}, not a number", _REFUSED) from None

    def per_layer(self, key: str, default: int = 0) -> list[int]:
        """Returns the metadata value of ``{architecture}.{key}`` as one integer per layer; repeats a lone integer."""
        n = self.number("block_count")
        numbers = self._numbers(key, default)
        return (numbers + [numbers[-1] if numbers else default] * n)[:n]


def read_header(path: Path, *, embeds: bool = False) -> GGUFHeader:
    """Returns a model file's checked header. ``embeds`` True accepts embedding models too, which cannot generate.
    Raises ModelFileError if the file is not a complete, usable GGUF model, MemoryBudgetError if it cannot be mapped."""
    if not os.path.isfile(path):  # os.path functions never raise, unlike Path's
        raise ModelFileError(f"{path}: {'not a file' if os.path.exists(path) else 'no such file'}", _GIVE)
    state = path.stat()
    if state.st_size < 24:
        raise ModelFileError(f"{path}: not a GGUF file ({state.st_size} bytes)", _GIVE)
    try:
        header = _parse(path, state.st_size, state.st_mtime_ns)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path}: the GGUF header is cut short or damaged", "Fetch the file again.") from error
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryBudgetError(f"{path.name} is too large to map", "Raise the memory limit.") from error
        raise ModelFileError(f"{path}: {error.strerror}", _GIVE) from error
    if why := next(_problems(header), None):
        raise ModelFileError(f"{path}: {why}", _REFUSED)
    if header.reads_both_ways and not embeds:
        raise ModelFileError(f"{path}: an embedding model cannot generate text", "Give it as --embedding-model.")
    return header


def is_embedding_model(path: Path) -> bool:
    """Returns whether a file is a model trained to embed texts; False for an unusable file."""
    try:
        return read_header(path, embeds=True).embeds
    except ModelFileError:
        return False


class _Cursor:
    """A cursor that reads the header's values in order. Past the file's end, it raises IndexError or struct.error."""

    def __init__(self, data: mmap.mmap, size: int) -> None:
        self.data, self.size, self.at = data, size, 0

    def scalar(self, code: str) -> int | float | bool:
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value  # type: ignore[no-any-return]

    def count(self, code: str = "Q") -> int:
        return int(self.scalar(code))

    def strings(self, n: int) -> Iterator[bytes]:
        """Yields the next ``n`` strings as bytes. Speed matters: a vocabulary has hundreds of thousands of strings."""
        data, size, length_at = self.data, self.size, _LENGTH.unpack_from
        for _ in range(n):
            start = self.at + _LENGTH.size
            self.at = start + length_at(data, self.at)[0]
            if self.at > size:
                raise IndexError("string past the end")
            yield data[start : self.at]

    def string(self, errors: str = "strict") -> str:
        return next(self.strings(1)).decode("utf-8", errors)

    def value(self, kind: int) -> MetaValue | None:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.string("replace")
        if kind == _ARRAY:
            return self.array()
        raise IndexError(f"unknown value type {kind}")

    def array(self) -> MetaValue | None:
        """Returns the next array as a list. Skips an array of more than 4,096 elements, and returns None for it."""
        kind, n = self.count("I"), self.count()
        if kind in _SCALARS:
            code, start = _SCALARS[kind], self.at
            self.at += n * struct.calcsize("<" + code)
            if self.at > self.size:
                raise IndexError("past the end")
            if n > _LONGEST_KEPT_ARRAY:
                return None
            return list(struct.unpack_from(f"<{n}{code}", self.data, start))
        if kind != _STRING or n > self.size:
            raise IndexError(f"unknown array of type {kind}")
        if n <= _LONGEST_KEPT_ARRAY:
            return [string.decode("utf-8", "replace") for string in self.strings(n)]
        for _ in self.strings(n):
            pass
        return None


@lru_cache(maxsize=64)
def _parse(path: Path, size: int, _changed: int) -> GGUFHeader:
    """Returns the header of a file of ``size`` bytes. ``_changed``: the modification time, which renews the cache."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _header(path, _Cursor(data, size))


def _header(path: Path, cursor: _Cursor) -> GGUFHeader:
    if cursor.data[:4] != b"GGUF":
        raise ModelFileError(f"{path}: not a GGUF file", _GIVE)
    cursor.at = 4
    version = cursor.count("I")
    if not 2 <= version <= 3:
        raise ModelFileError(f"{path}: GGUF version {version} is not supported", "Use a file of version 2 or 3.")
    n_tensors, n_metadata = cursor.count(), cursor.count()
    metadata: dict[str, MetaValue] = {}
    n_vocab = 0
    for _ in range(n_metadata):
        key, kind = cursor.string(), cursor.count("I")
        if key == "tokenizer.ggml.tokens":
            n_vocab = _vocabulary_size(path, cursor)
            continue
        if (value := cursor.value(kind)) is not None:
            metadata[key] = value
    tensors = tuple(_tensor(cursor) for _ in range(n_tensors))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 8 or alignment & (alignment - 1):
        raise IndexError("alignment")
    start = -(-cursor.at // alignment) * alignment
    for tensor in tensors:
        end = start + tensor.offset + (tensor.nbytes or 0)
        if tensor.nbytes is not None and end > cursor.size:
            cut = f"{path}: cut short, {tensor.name} ends at byte {end:,} of {cursor.size:,}"
            raise ModelFileError(cut, "Fetch the file again.")
    return GGUFHeader(path, metadata, tensors, n_vocab, sum(part.stat().st_size for part in shards(path)), start)


def _vocabulary_size(path: Path, cursor: _Cursor) -> int:
    if cursor.count("I") != _STRING:
        raise IndexError("tokens are not strings")
    n = cursor.count()
    if n > cursor.size:
        raise IndexError("more tokens than bytes")
    if len(set(cursor.strings(n))) != n:
        raise ModelFileError(f"{path}: the vocabulary contains a token twice", "Fetch another copy of the model.")
    return n


def _tensor(cursor: _Cursor) -> Tensor:
    name, n_dims = cursor.string(), cursor.count("I")
    if not 0 <= n_dims <= 8:
        raise IndexError("tensor dimensions")
    shape = tuple(cursor.count() for _ in range(n_dims))
    kind, offset = cursor.count("I"), cursor.count()
    nbytes = None
    if kind in TENSOR_TYPES:
        _, block, block_bytes = TENSOR_TYPES[kind]
        nbytes = math.prod(shape) // block * block_bytes
    return Tensor(name, shape, kind, offset, nbytes)


def shards(path: Path) -> list[Path]:
    """Returns ``path``, or all parts of a model whose ``path`` ends in -00001-of-00003.gguf. Raises ModelFileError."""
    match = re.fullmatch(r"(.*)-(\d{5})-of-(\d{5})\.gguf", path.name)
    if not match:
        return [path]
    stem, first, last = match[1], int(match[2]), int(match[3])
    if first != 1:
        raise ModelFileError(f"{path}: this is part {first} of a split model", "Give the path of the first part.")
    parts = [path.with_name(f"{stem}-{part:05d}-of-{last:05d}.gguf") for part in range(1, last + 1)]
    for part in parts:
        if not part.is_file():
            raise ModelFileError(f"{part}: a part of the model is missing", "Fetch all parts into one folder.")
    return parts


def _problems(header: GGUFHeader) -> Iterator[str]:
    """Yields a message for each value on which llama.cpp aborts (load_hparams in llama-model.cpp; llama-vocab.cpp)."""
    if not isinstance(header.metadata.get("general.architecture"), str):
        yield "the header names no architecture"
    if header.metadata.get("general.type", "model") != "model":
        yield f"holds a {header.metadata['general.type']}, not a model"
    if not header.tensors:
        yield "holds no weights"
    if not header.n_vocab:
        yield "holds no vocabulary"
    layers = header.number("block_count")
    experts, used = header.number("expert_count"), header.number("expert_used_count")
    if not 1 <= layers <= 512:
        yield f"claims {layers} layers"
    if not min(experts, 1) <= used <= experts <= 512:
        yield f"claims {used} of {experts} experts"
    scaling = header.arch("rope.scaling.type")
    if scaling is not None and scaling not in _ROPE_SCALINGS:
        yield f"names the unknown rope scaling {scaling!r}"
    for key in ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"):
        epsilon = header.arch(key)
        if epsilon is not None and not (isinstance(epsilon, int | float) and 0 <= epsilon < math.inf):
            yield f"{key} is {epsilon}"
    heads = header.number("attention.head_count")
    head_size = header.number("attention.key_length", header.number("embedding_length") // heads if heads else 0)
    if head_size and header.number("rope.dimension_count") > head_size:
        yield f"rotates {header.number('rope.dimension_count')} dimensions of heads of {head_size}"
