"""A short name for everything about a model that shapes a cache: its files and the build of llama.cpp.

Hashing gigabytes takes too long at every start. So the whole header counts (architecture, rope, tokenizer, chat
template, tensors), and evenly spread blocks of the weights.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from wim_edge.engine.bindings import BUILD
from wim_edge.engine.gguf import GGUFHeader, shards

_BLOCK, _BLOCKS = 1 << 16, 64


def fingerprint(header: GGUFHeader) -> str:
    """Returns the fingerprint of a model with this header, in hexadecimal. Raises OSError."""
    digest = hashlib.blake2b(BUILD.encode(), digest_size=16)
    for number, path in enumerate(shards(header.path)):
        weights = sum(tensor.nbytes or 0 for tensor in header.tensors) if number == 0 else 0
        _update(digest, path, max(0, path.stat().st_size - weights))
    return digest.hexdigest()


def _update(digest: hashlib.blake2b, path: Path, head: int) -> None:
    """Adds the file's size, its first ``head`` bytes and blocks of the rest to the digest."""
    size = path.stat().st_size
    digest.update(size.to_bytes(8, "little"))
    with path.open("rb") as file:
        while file.tell() < head and (block := file.read(min(1 << 20, head - file.tell()))):
            digest.update(block)
        for number in range(_BLOCKS):
            file.seek(head + (size - head) * number // _BLOCKS)
            digest.update(file.read(_BLOCK))
