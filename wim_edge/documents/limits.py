"""The checks and errors for documents that exceed a limit (`wim_edge.settings.Limits`)."""

from __future__ import annotations

import gzip
from typing import IO

from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

DEFAULTS = Limits()
_BLOCK = 1 << 20


def above(name: str, what: str, limit: str) -> DocumentError:
    """Returns the error "name: what" for a document above ``limit``, which names a field of `Limits`."""
    return DocumentError(f"{name}: {what}", f"Split it and give the parts, or set WIM_EDGE_{limit.upper()} higher.")


def check_size(name: str, size: int, limits: Limits, limit: str, what: str = "larger than") -> None:
    """Raises DocumentError if a size in bytes is above the field ``limit`` of ``limits``."""
    if size > (most := getattr(limits, limit)):
        raise above(name, f"{what} {mebibytes(most)}", limit)


def read_whole(name: str, file: IO[bytes] | gzip.GzipFile, limits: Limits) -> bytes:
    """Returns all bytes of an open file, up to its end. Raises DocumentError above ``document_bytes``."""
    blocks, size = [], 0
    while block := file.read(_BLOCK):  # in blocks: one large read would allocate the whole limit
        blocks.append(block)
        size += len(block)
        check_size(name, size, limits, "document_bytes")
    return b"".join(blocks)


def mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size:,} bytes"
