"""Reads and writes the adapter's file: a GGUF that `llama_adapter_lora_init` reads."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch

from adapter.model import MATRICES, Lora, Shape


def write(path: Path, lora: Lora, shape: Shape, description: str) -> None:
    """Writes the matrices as 16-bit floats. The file appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    writer = gguf.GGUFWriter(partial, shape.architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, lora.alpha)
    writer.add_name("wim-edge pointing")
    writer.add_description(description)
    writer.add_license("apache-2.0")
    for layer in range(shape.n_layers):
        for name in MATRICES:
            for kind, matrices in (("a", lora.a), ("b", lora.b)):
                matrix = matrices[f"{layer}:{name}"].detach().cpu().numpy().astype(np.float16)
                writer.add_tensor(f"blk.{layer}.{name}.weight.lora_{kind}", matrix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)


def read(path: Path) -> Lora:
    """Returns the adapter in a file that `write` wrote."""
    reader = gguf.GGUFReader(path)
    found: dict[str, dict[str, torch.Tensor]] = {"lora_a": {}, "lora_b": {}}
    for tensor in reader.tensors:
        _, layer, name, _, kind = tensor.name.split(".")
        found[kind][f"{layer}:{name}"] = torch.from_numpy(np.array(tensor.data, dtype=np.float32))
    return Lora(found["lora_a"], found["lora_b"], reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())
