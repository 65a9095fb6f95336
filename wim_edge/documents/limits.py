"""The error of a document that is above one of the limits (`wim_edge.settings.Limits`)."""

from __future__ import annotations

from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

DEFAULTS = Limits()


def above(name: str, what: str, limit: str) -> DocumentError:
    """``limit``: the field of `Limits` that it is above of."""
    return DocumentError(f"{name}: {what}", f"Split it and give the parts, or set WIM_EDGE_{limit.upper()} higher.")


def too_large(name: str, limits: Limits) -> DocumentError:
    return above(name, f"larger than {mebibytes(limits.document_bytes)}", "document_bytes")


def mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size:,} bytes"
