"""A Llama or Qwen2 in PyTorch whose weights lie as in the GGUF file, with a LoRA that is active on the question alone.

The rotary embedding of a Llama turns neighbouring pairs of elements, as llama.cpp does for this architecture: the rows
of the query's and key's matrices were permuted for that when the file was made. That of a Qwen2 turns an element of the
first half with its counterpart in the second. So whatever is trained here has the file's own layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True)
class Shape:
    """The architecture ("llama" or "qwen2") and the sizes that the file's metadata names."""

    architecture: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    width: int
    inner: int
    rope_base: float
    epsilon: float

    @property
    def head(self) -> int:
        return self.width // self.n_heads


@dataclass(frozen=True)
class Prefix:
    """Keys and values of a passage, one pair a layer, each [KV heads, tokens, head size]."""

    keys: list[Tensor]
    values: list[Tensor]
    n_tokens: int


@dataclass(frozen=True)
class Batch:
    """The questions of one passage, laid end to end.

    Attributes:
        tokens: [n] of all the questions, one after the other.
        positions: [n], each question counted from the passage's end.
        grid: [questions, longest] the place of each token in ``tokens``; 0 where a question is shorter.
        places: [n] the place of each token in the flattened grid.
    """

    tokens: Tensor
    positions: Tensor
    grid: Tensor
    places: Tensor

    @staticmethod
    def of(questions: list[list[int]]) -> Batch:
        longest = max(map(len, questions))
        grid = torch.zeros(len(questions), longest, dtype=torch.long)
        places, positions, at = [], [], 0
        for row, question in enumerate(questions):
            n = len(question)
            grid[row, :n] = torch.arange(at, at + n)
            places.append(torch.arange(row * longest, row * longest + n))
            positions.append(torch.arange(n))
            at += n
        tokens = torch.tensor([token for question in questions for token in question])
        return Batch(tokens, torch.cat(positions), grid, torch.cat(places))


class Lora(nn.Module):
    """The two small matrices of each large one: ``B A x`` times alpha / rank is added to what it gives."""

    def __init__(self, a: dict[str, Tensor], b: dict[str, Tensor], alpha: float) -> None:
        """Take the matrices, keyed by layer and name ("3:attn_q")."""
        super().__init__()
        self.a, self.b = (nn.ParameterDict({key: nn.Parameter(one) for key, one in of.items()}) for of in (a, b))
        self.alpha = alpha
        self.scale = alpha / len(next(iter(a.values())))

    @staticmethod
    def new(shape: Shape, rank: int, alpha: float, seed: int) -> Lora:
        """Return an adapter that changes nothing yet."""
        kv = shape.n_kv_heads * shape.head
        sizes = {
            "attn_q": (shape.width, shape.width), "attn_k": (kv, shape.width), "attn_v": (kv, shape.width),
            "attn_output": (shape.width, shape.width), "ffn_gate": (shape.inner, shape.width),
            "ffn_up": (shape.inner, shape.width), "ffn_down": (shape.width, shape.inner),
        }  # fmt: skip
        generator = torch.Generator().manual_seed(seed)
        a, b = {}, {}
        for layer in range(shape.n_layers):
            for name, (n_out, n_in) in sizes.items():
                bound = (3 / n_in) ** 0.5
                a[f"{layer}:{name}"] = (torch.rand(rank, n_in, generator=generator) * 2 - 1) * bound
                b[f"{layer}:{name}"] = torch.zeros(n_out, rank)
        return Lora(a, b, alpha)

    def add(self, plain: Tensor, x: Tensor, layer: int, name: str) -> Tensor:
        key = f"{layer}:{name}"
        return torch.addmm(plain, functional.linear(x, self.a[key]), self.b[key].t(), alpha=self.scale)


class Llama:
    """The frozen model, dequantized to 32-bit floats, its layers' matrices to ``dtype``.

    Raises:
        ValueError: the file is of another architecture.
    """

    def __init__(self, path: Path, dtype: torch.dtype = torch.float32) -> None:
        reader = gguf.GGUFReader(path)
        architecture = reader.fields["general.architecture"].contents()
        if architecture not in ("llama", "qwen2"):
            raise ValueError(f"an adapter is trained for llama and qwen2, not for {architecture}")

        def meta(key: str) -> float:
            return reader.fields[f"{architecture}.{key}"].contents()

        self.shape = Shape(
            architecture, int(meta("block_count")), int(meta("attention.head_count")),
            int(meta("attention.head_count_kv")), int(meta("embedding_length")), int(meta("feed_forward_length")),
            meta("rope.freq_base"), meta("attention.layer_norm_rms_epsilon"),
        )  # fmt: skip
        self.weights = {
            tensor.name.removesuffix(".weight"): torch.from_numpy(
                np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            ).to(dtype if tensor.name.endswith(tuple(f"{name}.weight" for name in MATRICES)) else torch.float32)
            for tensor in reader.tensors
        }
        half = torch.arange(0, self.shape.head, 2, dtype=torch.float64) / self.shape.head
        self._frequencies = self.shape.rope_base**-half

    def embed(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.weights["token_embd"])

    def logits(self, hidden: Tensor) -> Tensor:
        output = self.weights.get("output", self.weights["token_embd"])
        return functional.linear(self._norm(hidden, "output_norm"), output)

    @torch.no_grad()
    def read(self, tokens: list[int]) -> tuple[Prefix, Tensor]:
        """Return the keys and values of a passage as the plain model reads it, and its last hidden state."""
        turn = self._turn(torch.arange(len(tokens)))
        x, keys, values = self.embed(torch.tensor(tokens)), [], []
        for layer in range(self.shape.n_layers):
            q, k, v = self._qkv(x, layer, turn, None)
            keys.append(k)
            values.append(v)
            out = functional.scaled_dot_product_attention(
                q.flatten(0, 1)[None], *(one.repeat_interleave(q.shape[1], 0)[None] for one in (k, v)), is_causal=True
            )[0]
            x = self._after_attention(x, out.transpose(0, 1).reshape(len(tokens), -1), layer, None)
        return Prefix(keys, values, len(tokens)), x[-1]

    def ask(
        self, prefix: Prefix, batch: Batch, lora: Lora | None, keep: list[tuple[Tensor, Tensor]] | None = None
    ) -> Tensor:
        """Return the hidden state of each token of the questions, each of which follows the passage alone.

        ``keep`` is given each layer's keys and values, for the passage to go on with a single question.
        """
        rows, longest = batch.grid.shape
        turn = self._turn(batch.positions + prefix.n_tokens)
        ahead = torch.full((longest, longest), float("-inf")).triu(1)
        n_kv, group, head = self.shape.n_kv_heads, self.shape.n_heads // self.shape.n_kv_heads, self.shape.head
        flat = batch.grid.flatten()
        x = self.embed(batch.tokens)
        for layer in range(self.shape.n_layers):
            q, k, v = self._qkv(x, layer, turn, lora)
            q = q[:, :, flat]  # [KV heads, group, rows * longest, head]
            if keep is not None:
                keep.append((k, v))
            k, v = (one[:, flat].reshape(n_kv * rows, longest, head) for one in (k, v))
            shared = q.reshape(n_kv, -1, head) @ prefix.keys[layer].transpose(1, 2)
            by_row = q.reshape(n_kv, group, rows, longest, head).transpose(1, 2).reshape(n_kv * rows, -1, head)
            own = (by_row @ k.transpose(1, 2)).view(n_kv, rows, group, longest, longest)
            shared = shared.view(n_kv, group, rows, longest, prefix.n_tokens)
            scores = torch.cat([shared, own.transpose(1, 2)], -1) * head**-0.5
            scores[..., prefix.n_tokens :] += ahead
            weights = scores.softmax(-1)
            of_shared, of_own = weights.split([prefix.n_tokens, longest], -1)
            out = (of_shared.reshape(n_kv, -1, prefix.n_tokens) @ prefix.values[layer]).view(
                n_kv, group, rows, longest, head
            )
            mixed = of_own.transpose(1, 2).reshape(n_kv * rows, group * longest, longest) @ v
            out = out + mixed.view(n_kv, rows, group, longest, head).transpose(1, 2)
            out = out.reshape(n_kv * group, rows * longest, head)[:, batch.places].transpose(0, 1).flatten(1)
            x = self._after_attention(x, out, layer, lora)
        return x

    def extend(self, prefix: Prefix, tokens: list[int], lora: Lora | None) -> tuple[Prefix, Tensor]:
        """Return the passage with one question or token behind it, and the last token's hidden state."""
        kept: list[tuple[Tensor, Tensor]] = []
        hidden = self.ask(prefix, Batch.of([tokens]), lora, kept)
        keys = [torch.cat([old, new], 1) for old, (new, _) in zip(prefix.keys, kept, strict=True)]
        values = [torch.cat([old, new], 1) for old, (_, new) in zip(prefix.values, kept, strict=True)]
        return Prefix(keys, values, prefix.n_tokens + len(tokens)), hidden[-1]

    def _linear(self, x: Tensor, layer: int, name: str, lora: Lora | None) -> Tensor:
        key = f"blk.{layer}.{name}"
        weight, bias = self.weights[key], self.weights.get(f"{key}.bias")
        plain = functional.linear(x.to(weight.dtype), weight).to(x.dtype)
        if bias is not None:
            plain = plain + bias
        return plain if lora is None else lora.add(plain, x, layer, name)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weights[name], self.shape.epsilon)

    def _qkv(self, x: Tensor, layer: int, turn: tuple[Tensor, Tensor], lora: Lora | None) -> tuple[Tensor, ...]:
        """Return the queries [KV heads, group, n, head], the keys and the values [KV heads, n, head]."""
        n, n_kv, head = len(x), self.shape.n_kv_heads, self.shape.head
        y = self._norm(x, f"blk.{layer}.attn_norm")
        q, k, v = (self._linear(y, layer, name, lora) for name in ("attn_q", "attn_k", "attn_v"))
        q = self._turned(q.view(n, -1, head), turn).transpose(0, 1).reshape(n_kv, -1, n, head)
        return q, self._turned(k.view(n, n_kv, head), turn).transpose(0, 1), v.view(n, n_kv, head).transpose(0, 1)

    def _after_attention(self, x: Tensor, out: Tensor, layer: int, lora: Lora | None) -> Tensor:
        x = x + self._linear(out, layer, "attn_output", lora)
        y = self._norm(x, f"blk.{layer}.ffn_norm")
        gate, up = (self._linear(y, layer, name, lora) for name in ("ffn_gate", "ffn_up"))
        return x + self._linear(functional.silu(gate) * up, layer, "ffn_down", lora)

    def _turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, None] * self._frequencies
        return angles.cos().float()[:, None], angles.sin().float()[:, None]

    def _turned(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        cos, sin = turn
        if self.shape.architecture == "qwen2":
            first, second = x.chunk(2, -1)
            return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)
