"""The catalog: maps names in models.toml to verified GGUF files, from Hugging Face, Python packages or paths."""

from wim_edge.catalog.catalog import EMBEDDED, SCOUT, Catalog, ResolvedModel, companions, facts, is_here, resolve
from wim_edge.catalog.entry import HubSource, ModelEntry, PackagePart, PackageSource, PathSource
from wim_edge.catalog.sources import fetch, is_ready, locate, locate_source, own_copy, removable, remove

__all__ = [
    "EMBEDDED", "SCOUT", "Catalog", "HubSource", "ModelEntry", "PackagePart", "PackageSource", "PathSource",
    "ResolvedModel", "companions", "facts", "fetch", "is_here", "is_ready", "locate",
    "locate_source", "own_copy", "removable", "remove", "resolve",
]  # fmt: skip
