"""Tiny models with random weights, for the memories that no package ships: recurrent and hybrid."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.attack.models import File, Tensor

N_EMBD, N_LAYER, N_FF, N_HEAD, N_STATE, N_CONV = 64, 4, 128, 4, 8, 4
N_INNER = 2 * N_EMBD
DT_RANK = 4


def smallest_gguf() -> bytes:
    """A valid GGUF file: one layer, two tokens, one tensor of 32 floats."""
    facts = [(b"general.architecture", 8, b"llama"), (b"llama.block_count", 4, 1),
             (b"tokenizer.ggml.tokens", 9, (8, [b"a", b"b"]))]  # fmt: skip
    return File(facts, [Tensor(b"token_embd.weight", [32], 0, 0)], bytes(128)).whole()


def write_tiny(path: Path, architecture: str, seed: int = 7, *, space_prefix: bool = False) -> Path:
    """A GGUF of "llama" or "qwen2" (plain attention), "gemma3" (a window), "mamba" (recurrent) or "lfm2" (hybrid)."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, architecture)
    _metadata(writer, architecture)
    n_vocab = _vocabulary(writer, space_prefix)

    def add(name: str, *shape: int, scale: float = 0.3, offset: float = 0.0) -> None:
        writer.add_tensor(name, (offset + scale * random.standard_normal(shape)).astype(np.float32))

    add("token_embd.weight", n_vocab, N_EMBD, scale=1.0)
    norm = "token_embd_norm.weight" if architecture == "lfm2" else "output_norm.weight"
    add(norm, N_EMBD, scale=0.1, offset=1.0)
    for layer in range(n_layer(architecture)):
        prefix = f"blk.{layer}."
        add(prefix + "attn_norm.weight", N_EMBD, scale=0.1, offset=1.0)
        if architecture == "mamba":
            _mamba(add, prefix)
            continue
        if architecture == "lfm2" and _lfm2_heads()[layer] == 0:
            add(prefix + "shortconv.conv.weight", N_EMBD, 3)
            add(prefix + "shortconv.in_proj.weight", 3 * N_EMBD, N_EMBD)
            add(prefix + "shortconv.out_proj.weight", N_EMBD, N_EMBD)
        else:
            for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
                add(f"{prefix}{name}.weight", N_EMBD, N_EMBD)
                if architecture == "qwen2" and name != "attn_output":
                    add(f"{prefix}{name}.bias", N_EMBD)
            if architecture in ("lfm2", "gemma3"):
                add(prefix + "attn_q_norm.weight", N_EMBD // N_HEAD, scale=0.1, offset=1.0)
                add(prefix + "attn_k_norm.weight", N_EMBD // N_HEAD, scale=0.1, offset=1.0)
        if architecture == "gemma3":
            add(prefix + "post_attention_norm.weight", N_EMBD, scale=0.1, offset=1.0)
            add(prefix + "post_ffw_norm.weight", N_EMBD, scale=0.1, offset=1.0)
        add(prefix + "ffn_norm.weight", N_EMBD, scale=0.1, offset=1.0)
        add(prefix + "ffn_gate.weight", N_FF, N_EMBD)
        add(prefix + "ffn_up.weight", N_FF, N_EMBD)
        add(prefix + "ffn_down.weight", N_EMBD, N_FF)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_tiny_embedder(path: Path, seed: int = 7, *, n_ctx: int = 64, name: str = "tiny-e5") -> Path:
    """A GGUF of BERT, which reads so many tokens and pools their mean."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name(name)
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(2)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_layer_norm_eps(1e-5)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_token_type_count(2)
    n_vocab = _vocabulary(writer, space_prefix=False)
    writer.add_add_eos_token(True)
    shapes = {"token_embd.weight": (n_vocab, N_EMBD), "position_embd.weight": (n_ctx, N_EMBD),
              "token_types.weight": (2, N_EMBD), "token_embd_norm": (N_EMBD,)}  # fmt: skip
    for layer in range(2):
        square = ("attn_q", "attn_k", "attn_v", "attn_output")
        shapes |= {f"blk.{layer}.{part}.weight": (N_EMBD, N_EMBD) for part in square}
        shapes |= {f"blk.{layer}.{part}.bias": (N_EMBD,) for part in (*square, "ffn_down")}
        shapes |= {f"blk.{layer}.ffn_up.weight": (N_FF, N_EMBD), f"blk.{layer}.ffn_up.bias": (N_FF,),
                   f"blk.{layer}.ffn_down.weight": (N_EMBD, N_FF)}  # fmt: skip
        shapes |= {f"blk.{layer}.{part}": (N_EMBD,) for part in ("attn_output_norm", "layer_output_norm")}
    for one, shape in shapes.items():
        weights = 0.3 * random.standard_normal(shape).astype(np.float32)
        if one.endswith("_norm"):
            writer.add_tensor(f"{one}.weight", 1 + weights)
            writer.add_tensor(f"{one}.bias", weights)
        else:
            writer.add_tensor(one, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def n_layer(architecture: str) -> int:
    """Gemma's layers 0 to 4 of every six see a window, the sixth sees all."""
    return 6 if architecture == "gemma3" else N_LAYER


def _lfm2_heads() -> list[int]:
    return [0, N_HEAD, 0, N_HEAD]


def _mamba(add, prefix: str) -> None:  # type: ignore[no-untyped-def]
    add(prefix + "ssm_in.weight", 2 * N_INNER, N_EMBD)
    add(prefix + "ssm_conv1d.weight", N_INNER, N_CONV)
    add(prefix + "ssm_conv1d.bias", N_INNER)
    add(prefix + "ssm_x.weight", DT_RANK + 2 * N_STATE, N_INNER)
    add(prefix + "ssm_dt.weight", N_INNER, DT_RANK)
    add(prefix + "ssm_dt.bias", N_INNER)
    add(prefix + "ssm_a", N_INNER, N_STATE, scale=0.1, offset=-1.0)
    add(prefix + "ssm_d", N_INNER)
    add(prefix + "ssm_out.weight", N_EMBD, N_INNER)


def _metadata(writer: gguf.GGUFWriter, architecture: str) -> None:
    writer.add_context_length(4096)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(n_layer(architecture))
    writer.add_layer_norm_rms_eps(1e-5)
    if architecture == "mamba":
        writer.add_feed_forward_length(0)
        writer.add_head_count(0)
        writer.add_ssm_conv_kernel(N_CONV)
        writer.add_ssm_inner_size(N_INNER)
        writer.add_ssm_state_size(N_STATE)
        writer.add_ssm_time_step_rank(DT_RANK)
        return
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    if architecture == "lfm2":
        writer.add_head_count_kv(_lfm2_heads())
        writer.add_shortconv_l_cache(3)
    else:
        writer.add_head_count_kv(N_HEAD)
    if architecture == "gemma3":
        writer.add_sliding_window(64)
        writer.add_key_length(N_EMBD // N_HEAD)
        writer.add_value_length(N_EMBD // N_HEAD)
    writer.add_rope_dimension_count(N_EMBD // N_HEAD)
    writer.add_rope_freq_base(10000.0)


def _vocabulary(writer: gguf.GGUFWriter, space_prefix: bool) -> int:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL, *[gguf.TokenType.BYTE] * 256]
    tokens += ["▁", *(chr(c) for c in range(33, 127))]
    types += [gguf.TokenType.NORMAL] * (len(tokens) - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(space_prefix)
    return len(tokens)
