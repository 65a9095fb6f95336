"""A Llama or Qwen2 in PyTorch with the weights of a GGUF file, and a LoRA that is active only on question and answer.

The rotary embedding of a Llama rotates pairs of neighbouring elements, as in llama.cpp: the conversion to GGUF permuted
the rows of the query and key matrices for this. That of a Qwen2 rotates an element of the first half with its
counterpart in the second half. So the trained matrices have the layout of the GGUF file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

_NEVER = -1e9  # a score so low that its weight is 0
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True)
class Shape:
    """The architecture ("llama" or "qwen2") and the sizes in the file's metadata."""

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
class Rows:
    """Texts of different lengths, end to end for the linear layers and in a padded grid for the attention.

    Attributes:
        tokens: [n] the tokens of all texts, one text after the other.
        positions: [n] the position of each token in its text, from 0.
        grid: [texts, longest] the index of each token in ``tokens``; 0 where a text is shorter.
        places: [n] the index of each token in the flattened grid.
        lengths: [texts] the number of tokens of each text.
    """

    tokens: Tensor
    positions: Tensor
    grid: Tensor
    places: Tensor
    lengths: Tensor

    @staticmethod
    def of(texts: list[list[int]], device: str = "cpu") -> Rows:
        lengths = torch.tensor([len(text) for text in texts])
        positions = torch.cat([torch.arange(n) for n in lengths])
        longest = int(lengths.max())
        places = positions + (torch.arange(len(texts)) * longest).repeat_interleave(lengths)
        grid = torch.zeros(len(texts) * longest, dtype=torch.long)
        grid[places] = torch.arange(len(places))
        tokens = torch.tensor([token for text in texts for token in text])
        of_all = (tokens, positions, grid.view(len(texts), longest), places, lengths)
        return Rows(*(one.to(device) for one in of_all))


@dataclass(frozen=True)
class Prefix:
    """The keys and values of passages, a tensor for each layer: [passages, KV heads, longest, head size]."""

    keys: list[Tensor]
    values: list[Tensor]
    lengths: Tensor


class Lora(nn.Module):
    """A LoRA: two small matrices per adapted matrix, to whose output ``B A x`` times alpha / rank is added."""

    def __init__(self, a: dict[str, Tensor], b: dict[str, Tensor], alpha: float) -> None:
        """Takes the matrices by layer and name, such as "3:attn_q"."""
        super().__init__()
        self.a, self.b = (nn.ParameterDict({key: nn.Parameter(one) for key, one in of.items()}) for of in (a, b))
        self.alpha = alpha
        self.scale = alpha / len(next(iter(a.values())))

    @staticmethod
    def new(shape: Shape, rank: int, alpha: float, seed: int) -> Lora:
        """Returns an adapter that changes nothing yet: A is random, B is 0."""
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
        key, dtype = f"{layer}:{name}", x.dtype
        small = functional.linear(x, self.a[key].to(dtype))
        return plain + functional.linear(small, self.b[key].to(dtype)).to(plain.dtype) * self.scale


class Llama:
    """The frozen model on a device of PyTorch: the layers' matrices in ``dtype``, other weights in 32-bit floats.

    Raises:
        ValueError: the file has another architecture.
    """

    def __init__(self, path: Path, dtype: torch.dtype = torch.float32, device: str = "cpu") -> None:
        self.device = device
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
            ).to(device, dtype if tensor.name.endswith(tuple(f"{name}.weight" for name in MATRICES)) else torch.float32)
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
    def read(self, passages: list[list[int]]) -> Prefix:
        """Returns the keys and values of passages, computed without an adapter."""
        rows = Rows.of(passages, self.device)
        keys, values = [], []
        x = self.embed(rows.tokens)
        ahead = self._ahead(rows)
        turn = self._turn(rows.positions)
        for layer in range(self.shape.n_layers):
            q, k, v = self._qkv(x, rows, layer, turn, None)
            keys.append(k)
            values.append(v)
            x = self._after_attention(x, _attend(q, k, v, ahead)[rows.places], layer, None)
        return Prefix(keys, values, rows.lengths)

    def ask(self, prefix: Prefix, owners: list[int], questions: list[list[int]], lora: Lora | None) -> Tensor:
        """Returns the hidden states [n, width] of the questions' tokens, one question after the other.

        ``owners``: the index of each question's passage. A question sees only this passage and itself.
        """
        rows = Rows.of(questions, self.device)
        of = torch.tensor(owners, device=self.device)
        before = prefix.lengths[of]
        read = torch.arange(prefix.keys[0].shape[2], device=self.device)
        hidden = torch.where(read < before[:, None], 0.0, _NEVER)[:, None, None].expand(-1, -1, rows.grid.shape[1], -1)
        ahead = torch.cat([hidden, self._ahead(rows).expand(len(of), -1, -1, -1)], -1)
        turn = self._turn(rows.positions + before.repeat_interleave(rows.lengths))
        x = self.embed(rows.tokens)
        for layer in range(self.shape.n_layers):
            q, k, v = self._qkv(x, rows, layer, turn, lora)
            k, v = torch.cat([prefix.keys[layer][of], k], 2), torch.cat([prefix.values[layer][of], v], 2)
            x = self._after_attention(x, _attend(q, k, v, ahead)[rows.places], layer, lora)
        return x

    def _linear(self, x: Tensor, layer: int, name: str, lora: Lora | None) -> Tensor:
        key = f"blk.{layer}.{name}"
        weight, bias = self.weights[key], self.weights.get(f"{key}.bias")
        x = x.to(weight.dtype)
        plain = functional.linear(x, weight).float()
        if bias is not None:
            plain = plain + bias
        return plain if lora is None else lora.add(plain, x, layer, name)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weights[name], self.shape.epsilon)

    def _qkv(
        self, x: Tensor, rows: Rows, layer: int, turn: tuple[Tensor, Tensor], lora: Lora | None
    ) -> tuple[Tensor, ...]:
        """Returns queries, keys and values in the grid of ``rows``, each [texts, heads, longest, head size]."""
        y = self._norm(x, f"blk.{layer}.attn_norm")
        q, k, v = (self._linear(y, layer, name, lora).view(len(x), -1, self.shape.head) for name in MATRICES[:3])
        return tuple(one[rows.grid].transpose(1, 2) for one in (self._turned(q, turn), self._turned(k, turn), v))

    def _ahead(self, rows: Rows) -> Tensor:
        """Returns the causal mask [1, 1, longest, longest], which is added to the scores."""
        longest = rows.grid.shape[1]
        return torch.full((1, 1, longest, longest), _NEVER, device=self.device).triu(1)

    def _after_attention(self, x: Tensor, out: Tensor, layer: int, lora: Lora | None) -> Tensor:
        x = x + self._linear(out, layer, "attn_output", lora)
        y = self._norm(x, f"blk.{layer}.ffn_norm")
        gate, up = (self._linear(y, layer, name, lora) for name in ("ffn_gate", "ffn_up"))
        return x + self._linear(functional.silu(gate) * up, layer, "ffn_down", lora)

    def _turn(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, None] * self._frequencies.to(positions.device)
        return angles.cos().float()[:, None], angles.sin().float()[:, None]

    def _turned(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
        cos, sin = turn
        if self.shape.architecture == "qwen2":
            first, second = x.chunk(2, -1)
            return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def _attend(q: Tensor, k: Tensor, v: Tensor, ahead: Tensor) -> Tensor:
    """Returns the output of the attention [texts * longest, width]. Each KV head serves several heads."""
    texts, heads, longest, head = q.shape
    scores = q.reshape(texts, k.shape[1], -1, head) * head**-0.5 @ k.transpose(2, 3)
    weights = (scores.view(texts, heads, longest, -1) + ahead).softmax(-1).view(scores.shape)
    return (weights @ v).view(texts, heads, longest, head).transpose(1, 2).reshape(texts * longest, -1)
