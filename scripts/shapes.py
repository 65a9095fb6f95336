"""Models of random weights with the shapes of common models. Time and memory depend on the shape; answers are noise.

A shape is what the model's publisher states: layers, widths, heads, windows, recurrent states, and the sizes of the
vocabulary and of its merges. Weights are random rows, which repeat, scaled so that activations stay finite. They are
written as F16, and quantized by llama.cpp to the type of the catalog's file. The tokenizer is that of another file (the
embedded model's), with more tokens and merges that no text uses, of the average length of the published ones. So the
files have the bytes of the published files, within 0.2%.

    python scripts/shapes.py NAME FOLDER --tokenizer MODEL.gguf
"""

from __future__ import annotations

import argparse
import ctypes
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from wim_edge.engine.gguf import read_header

Q8_0, Q4_K_M = 7, 15  # enum llama_ftype
_ROWS = 256
"""The rows of a matrix that are made and quantized; the other rows repeat them."""
_Tensor = tuple[str, tuple[int, ...], np.ndarray[Any, Any], gguf.GGMLQuantizationType | None]
"""A tensor's name, shape, rows and, if the rows are quantized and so bytes, type."""
_BLOCK = np.random.default_rng(7).standard_normal(1 << 22).astype(np.float16)


@dataclass(frozen=True)
class Shape:
    """The metadata and the tensors of a model's GGUF, with its publisher's lengths and counts."""

    architecture: str
    file_type: int
    n_vocab: int
    n_merges: int
    facts: dict[str, Any]
    """The metadata below the architecture's name, by key."""
    attention: Mapping[str, tuple[int, ...]]
    """The tensors of an attention layer, each with its shape, the innermost dimension first."""
    recurrent: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The tensors of a recurrent layer."""
    outside: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The tensors outside of the layers, except the embedding."""

    @property
    def width(self) -> int:
        return int(self.facts["embedding_length"])

    def attends(self, layer: int) -> bool:
        every = self.facts.get("full_attention_interval")
        if every:
            return (layer + 1) % int(every) == 0
        heads = self.facts["attention.head_count_kv"]
        return not isinstance(heads, list) or heads[layer] > 0

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yields each tensor's name and shape, in the order of the file."""
        yield "token_embd.weight", (self.width, self.n_vocab)
        yield from self.outside.items()
        for layer in range(self.facts["block_count"]):
            for name, shape in (self.attention if self.attends(layer) else self.recurrent).items():
                yield f"blk.{layer}.{name}", shape

    @property
    def n_parameters(self) -> int:
        return sum(math.prod(shape) for _, shape in self.tensors())


def _feed_forward(width: int, inner: int) -> dict[str, tuple[int, ...]]:
    return {"ffn_norm.weight": (width,), "ffn_gate.weight": (width, inner), "ffn_up.weight": (width, inner),
            "ffn_down.weight": (inner, width)}  # fmt: skip


def _attention(width: int, heads: int, kv: int, size: int, *, normed: bool = False) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "attn_norm.weight": (width,), "attn_q.weight": (width, heads * size), "attn_k.weight": (width, kv * size),
        "attn_v.weight": (width, kv * size), "attn_output.weight": (heads * size, width),
    }  # fmt: skip
    return found | ({"attn_q_norm.weight": (size,), "attn_k_norm.weight": (size,)} if normed else {})


def _facts(
    layers: int, width: int, inner: int, heads: int, kv: int | list[int], size: int, context: int, base: float,
    epsilon: float, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    return {
        "block_count": layers, "context_length": context, "embedding_length": width, "feed_forward_length": inner,
        "attention.head_count": heads, "attention.head_count_kv": kv, "attention.key_length": size,
        "attention.value_length": size, "rope.freq_base": base, "attention.layer_norm_rms_epsilon": epsilon,
        **{key.replace("__", "."): value for key, value in more.items()},
    }  # fmt: skip


def _qwen3(layers: int, width: int, inner: int, heads: int, context: int, base: float, file_type: int) -> Shape:
    """Returns a shape of Qwen3: config.json of Qwen/Qwen3-0.6B and Qwen/Qwen3-4B-Instruct-2507, with tied output."""
    facts = _facts(layers, width, inner, heads, 8, 128, context, base, 1e-6)
    layer = _attention(width, heads, 8, 128, normed=True) | _feed_forward(width, inner)
    return Shape("qwen3", file_type, 151_936, 151_387, facts, layer, outside={"output_norm.weight": (width,)})


def _llama() -> Shape:
    """Returns the shape of Llama 3.2 1B: config.json of meta-llama/Llama-3.2-1B-Instruct."""
    facts = _facts(16, 2048, 8192, 32, 8, 64, 131_072, 500_000.0, 1e-5, rope__dimension_count=64, vocab_size=128_256)
    layer = _attention(2048, 32, 8, 64) | _feed_forward(2048, 8192)
    outside = {"rope_freqs.weight": (32,), "output_norm.weight": (2048,)}
    return Shape("llama", Q4_K_M, 128_256, 280_147, facts, layer, outside=outside)


def _gemma3() -> Shape:
    """Returns the shape of Gemma 3 4B: text_config of google/gemma-3-4b-it. llama.cpp itself knows that one layer in
    six sees the whole text. (The published vocabulary has scores and no merges.)"""
    facts = _facts(34, 2560, 10_240, 8, 4, 256, 131_072, 1_000_000.0, 1e-6, attention__sliding_window=1024,
                   rope__scaling__type="linear", rope__scaling__factor=8.0)  # fmt: skip
    layer = _attention(2560, 8, 4, 256, normed=True) | _feed_forward(2560, 10_240)
    layer |= {"post_attention_norm.weight": (2560,), "post_ffw_norm.weight": (2560,)}
    return Shape("gemma3", Q4_K_M, 262_208, 0, facts, layer, outside={"output_norm.weight": (2560,)})


def _lfm2() -> Shape:
    """Returns the shape of LFM2 1.2B: config.json of LiquidAI/LFM2-1.2B (8192 is two thirds of block_ff_dim, 12288)."""
    heads = [8 if layer in (2, 5, 8, 10, 12, 14) else 0 for layer in range(16)]
    facts = _facts(16, 2048, 8192, 32, heads, 64, 128_000, 1_000_000.0, 1e-5, shortconv__l_cache=3, vocab_size=65_536)
    attention = _attention(2048, 32, 8, 64, normed=True) | _feed_forward(2048, 8192)
    recurrent = {"attn_norm.weight": (2048,), "shortconv.conv.weight": (3, 2048),
                 "shortconv.in_proj.weight": (2048, 6144), "shortconv.out_proj.weight": (2048, 2048)}  # fmt: skip
    return Shape("lfm2", Q4_K_M, 65_536, 63_683, facts, attention, recurrent | _feed_forward(2048, 8192),
                 {"token_embd_norm.weight": (2048,)})  # fmt: skip


def _granite() -> Shape:
    """Returns the shape of Granite 4.0 H 1B: config.json of ibm-granite/granite-4.0-h-1b; 36 layers are Mamba2."""
    width, inner, state, ssm_heads, groups = 1536, 3072, 128, 48, 1
    kv = [4 if layer in (5, 15, 25, 35) else 0 for layer in range(40)]
    facts = _facts(40, width, 4096, 12, kv, 128, 131_072, 10_000.0, 1e-5, rope__dimension_count=128,
                   rope__scaling__finetuned=False, vocab_size=100_352, attention__scale=1 / 128, embedding_scale=12.0,
                   residual_scale=0.22, logit_scale=6.0, ssm__conv_kernel=4, ssm__inner_size=inner,
                   ssm__state_size=state, ssm__time_step_rank=ssm_heads, ssm__group_count=groups)  # fmt: skip
    conv = inner + 2 * groups * state
    recurrent = {
        "attn_norm.weight": (width,), "ssm_in.weight": (width, inner + conv + ssm_heads),
        "ssm_conv1d.weight": (4, conv), "ssm_conv1d.bias": (conv,), "ssm_dt.bias": (ssm_heads,),
        "ssm_a": (1, ssm_heads), "ssm_d": (1, ssm_heads), "ssm_norm.weight": (inner // groups, groups),
        "ssm_out.weight": (inner, width),
    }  # fmt: skip
    return Shape("granitehybrid", Q4_K_M, 100_352, 100_000, facts,
                 _attention(width, 12, 4, 128) | _feed_forward(width, 4096),
                 recurrent | _feed_forward(width, 4096), {"output_norm.weight": (width,)})  # fmt: skip


def _qwen35() -> Shape:
    """Returns the shape of Qwen3.5 0.8B: text_config of Qwen/Qwen3.5-0.8B; 3 in 4 layers are gated delta nets."""
    width, inner, state, heads = 1024, 2048, 128, 16
    facts = _facts(24, width, 3584, 8, 2, 256, 262_144, 10_000_000.0, 1e-6, rope__dimension_count=64,
                   rope__dimension_sections=[11, 11, 10, 0], full_attention_interval=4, ssm__conv_kernel=4,
                   ssm__inner_size=inner, ssm__state_size=state, ssm__time_step_rank=heads,
                   ssm__group_count=heads)  # fmt: skip
    feed = _feed_forward(width, 3584)
    feed["post_attention_norm.weight"] = feed.pop("ffn_norm.weight")
    attention = _attention(width, 8, 2, 256, normed=True) | {"attn_q.weight": (width, 2 * 8 * 256)}  # with its gate
    recurrent = {
        "attn_norm.weight": (width,), "attn_qkv.weight": (width, 3 * inner), "attn_gate.weight": (width, inner),
        "ssm_conv1d.weight": (4, 3 * inner), "ssm_dt.bias": (heads,), "ssm_a": (heads,),
        "ssm_beta.weight": (width, heads), "ssm_alpha.weight": (width, heads), "ssm_norm.weight": (state,),
        "ssm_out.weight": (inner, width),
    }  # fmt: skip
    return Shape("qwen35", Q8_0, 248_320, 247_587, facts, attention | feed, recurrent | feed,
                 {"output_norm.weight": (width,)})  # fmt: skip


SHAPES = {
    "qwen3-0.6b": _qwen3(28, 1024, 3072, 16, 40_960, 1_000_000.0, Q8_0),
    "llama3.2-1b": _llama(),
    "qwen3-4b": _qwen3(36, 2560, 9728, 32, 262_144, 5_000_000.0, Q4_K_M),
    "gemma3-4b": _gemma3(),
    "lfm2-1.2b": _lfm2(),
    "granite4.0-h-1b": _granite(),
    "qwen3.5-0.8b": _qwen35(),
}
"""The shapes, by the models' names in models.toml."""


def write(shape: Shape, path: Path, tokenizer: Path) -> Path:
    """Writes a shape's GGUF, quantized by llama.cpp, with the tokenizer of another file. Raises OSError, ValueError.

    llama.cpp quantizes each row separately. So it gets the first `_ROWS` rows of each matrix, and these are repeated.
    """
    known = gguf.GGUFReader(tokenizer).fields
    plain, few = path.with_suffix(".f16.gguf"), path.with_suffix(".few.gguf")
    sizes = dict(shape.tensors())
    try:
        first = {name: _first_rows(size) for name, size in sizes.items()}
        _write(shape, plain, known, ((name, size, _weights(name, size), None) for name, size in first.items()))
        quantize(plain, few, shape.file_type)
        header, data = read_header(few), np.memmap(few, np.uint8, "r")
        tensors = []
        for one in header.tensors:
            begin = header.metadata_nbytes + one.offset
            rows = data[begin : begin + (one.nbytes or 0)].reshape(_n_rows(one.shape), -1)
            tensors.append((one.name, sizes[one.name], rows, gguf.GGMLQuantizationType(one.type)))
        _write(shape, path, known, tensors)
    finally:
        plain.unlink(missing_ok=True)
        few.unlink(missing_ok=True)
    return path


def _n_rows(size: tuple[int, ...]) -> int:
    return math.prod(size[1:])


def _first_rows(size: tuple[int, ...]) -> tuple[int, ...]:
    return size if len(size) < 2 else (size[0], min(size[1], _ROWS))


def _write(shape: Shape, path: Path, known: Mapping[str, Any], tensors: Iterable[_Tensor]) -> None:
    """Writes a GGUF. Rows are repeated until there are enough."""
    writer = gguf.GGUFWriter(path, shape.architecture)
    for key, value in shape.facts.items():
        _add(writer, f"{shape.architecture}.{key}", value)
    _add_vocabulary(writer, shape, known)
    contents = []
    for name, size, rows, kind in tensors:
        n_rows, row = _n_rows(size), rows.nbytes // len(rows) if len(size) > 1 else rows.nbytes
        dims = size[::-1] if kind is None else (*size[:0:-1], row)
        writer.add_tensor_info(name, dims, rows.dtype, n_rows * row, raw_dtype=kind)
        contents.append((rows, n_rows * row // rows.itemsize))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for rows, n in contents:
        writer.write_tensor_data(np.resize(rows, n))
    writer.close()


def _type_of(name: str, size: tuple[int, ...]) -> str:
    """Returns float32 for vectors and what llama.cpp does not quantize, as in published files, else float16."""
    return "float32" if min(size) == 1 or len(size) == 1 or "conv" in name.split(".weight")[0][-6:] else "float16"


def _weights(name: str, size: tuple[int, ...]) -> np.ndarray[Any, Any]:
    n, dtype = math.prod(size), np.dtype(_type_of(name, size))
    if len(size) == 2 and min(size) > 1:
        found = (_BLOCK[:n] * np.float16(1 / math.sqrt(size[0]))).astype(dtype)
    elif name.endswith("ssm_a"):  # how fast a state fades: it must
        found = np.linspace(-16, -1, n, dtype=dtype)
    else:
        found = np.full(n, 0.0 if name.endswith("bias") else 1.0, dtype)
    return found.reshape(size[::-1])


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _add_vocabulary(writer: gguf.GGUFWriter, shape: Shape, known: Mapping[str, Any]) -> None:
    """Adds the tokens and merges of another file, and unused ones until there are as many as in the shape."""
    tokens, types, merges = (known[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))
    more = shape.n_vocab - len(tokens)
    if more < 0:
        raise ValueError(f"the tokenizer has {len(tokens)} tokens, where the shape has {shape.n_vocab}")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(known["tokenizer.ggml.pre"].contents())
    writer.add_token_list([*tokens, *(f"<unk{n:x}>" for n in range(more))])
    writer.add_token_types([*types, *[int(gguf.TokenType.UNUSED)] * more])
    writer.add_token_merges([*merges, *(f"<unk{n:x} >" for n in range(shape.n_merges - len(merges)))])
    for kind in ("bos", "eos", "unknown", "padding"):
        writer.add_uint32(f"tokenizer.ggml.{kind}_token_id", known[f"tokenizer.ggml.{kind}_token_id"].contents())
    writer.add_add_bos_token(False)
    writer.add_chat_template(known["tokenizer.chat_template"].contents())


def quantize(source: Path, target: Path, file_type: int) -> None:
    """Quantizes a file with llama.cpp. Raises ValueError if llama.cpp refuses."""
    from wim_edge.engine.bindings import last_errors, lib

    params = lib.llama_model_quantize_default_params()
    params.ftype = file_type
    if lib.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params)):
        raise ValueError(f"{source}: llama.cpp does not quantize it: {last_errors()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    given = parser.parse_args()
    path = write(SHAPES[given.name], given.folder / f"{given.name}.gguf", given.tokenizer)
    print(f"{path.name}: {SHAPES[given.name].n_parameters:,} parameters, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
