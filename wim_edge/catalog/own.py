"""The user's own models.toml: new entries, made from a model file's header."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from wim_edge.catalog.catalog import Catalog, own_file
from wim_edge.catalog.entry import NAME, HubSource, ModelEntry, ModelSource, PathSource, read_models
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import read_small_file
from wim_edge.system.atomic_files import replace_file

_WRITTEN = ("description", "licence", "parameters", "context", "rank", "bytes", "kv_bytes_per_token", "embeds")
"""The fields of an entry that are written to models.toml."""
_KV_CELLS = 4096
"""The context, in tokens, over which KV cache bytes are averaged: a multiple of 256, so that rounding has no effect."""


def entry_of(path: Path, name: str, source: ModelSource, licence: str) -> ModelEntry:
    """Returns the entry for a model file, from the file's header. The rank is one above all known models with smaller
    files, so that the best model that fits stays the default; 1 without a chat template; 0 for an embedding model,
    which is never the default. Raises ModelFileError if the file is no model."""
    from wim_edge.engine.gguf import read_header
    from wim_edge.engine.memory_estimate import kv_bytes

    header = read_header(path, embeds=True)
    n = sum(math.prod(tensor.shape) for tensor in header.tensors)
    label = f"{n / 1e9:.1f}B" if n >= 1e9 else f"{n / 1e6:.0f}M"  # the number of parameters
    states = kv_bytes(header, 0)  # bytes of recurrent layers, which do not depend on the context
    smaller = [one.rank for one in Catalog.load() if one.bytes < header.nbytes and one.name != name]
    return ModelEntry(
        name, str(header.metadata.get("general.name") or path.stem),
        licence or str(header.metadata.get("general.license") or "not stated"),
        str(header.metadata.get("general.size_label") or label), header.number("context_length") or 512,
        0 if header.embeds else 1 + max(smaller, default=0) if header.chat_template else 1, header.nbytes, (source,),
        -(-(kv_bytes(header, _KV_CELLS) - states) // _KV_CELLS) or None, embeds=header.embeds,
    )  # fmt: skip


def name_for(given: str | None, path: str) -> str:
    """Returns a model's name: ``given``, or one made from a file's path. Raises InvalidRequestError for a bad name."""
    name = given or re.sub(r"[^a-z0-9._-]+", "-", Path(path).stem.lower()).strip("-._")
    if not NAME.fullmatch(name) or name.endswith(".gguf"):
        raise InvalidRequestError(f"{name!r} is not a model name", "Lower-case letters, digits, '.', '_' and '-'.")
    return name


def add(entry: ModelEntry) -> Path:
    """Adds an entry to the user's own models.toml; returns the file's path. Raises InvalidRequestError, ModelError."""
    file = own_file()
    if entry.name in read_models(file):
        raise InvalidRequestError(f"{file} has a model {entry.name}", "Give another --name, or edit that entry.")
    before = read_small_file(file).decode("utf-8") if file.exists() else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(file) as part:
        part.write_text(f"{before.rstrip()}\n\n{as_toml(entry)}".lstrip(), encoding="utf-8", newline="\n")
    read_models(file)
    return file


def as_toml(entry: ModelEntry) -> str:
    """Returns an entry with one source, in the format of models.toml."""
    (one,) = entry.sources
    source = {"kind": "hub" if isinstance(one, HubSource) else "path", **asdict(one)}
    fields = {name: getattr(entry, name) for name in _WRITTEN}
    return f'[models."{entry.name}"]\n{_pairs(fields)}[models."{entry.name}".source]\n{_pairs(source)}'


def _pairs(fields: dict[str, Any]) -> str:
    """Returns the lines of a TOML table, without fields that are None or False."""
    known = {key: value for key, value in fields.items() if value is not None and value is not False}
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}\n" for key, value in known.items())
    return "".join(lines).replace("\x7f", "\\u007f")  # the only character of JSON's strings that TOML refuses


def from_file(path: Path, name: str | None) -> ModelEntry:
    """Returns a catalog entry for a model file of the user's own. Raises InvalidRequestError, ModelFileError."""
    whole = path.expanduser().absolute()
    return entry_of(whole, name_for(name, str(path)), PathSource(whole), "")


def from_hub(repo: str, wanted: str | None, name: str | None) -> tuple[ModelEntry, str]:
    """Returns (entry, licence) for one GGUF file of a repository; `completed` adds what its header says. ``wanted``: a
    part of the file's name; if several fit, Q4_K_M is taken. Raises InvalidRequestError, DownloadError."""
    from wim_edge.catalog.hub import files_of

    licence, files = files_of(repo)
    meant = [one for one in files if (wanted or "").lower() in one.file.lower()]
    if len(meant) > 1:
        usual = [one for one in meant if "q4_k_m" in one.file.lower()]
        meant = usual if len(usual) == 1 else meant
    if len(meant) != 1:
        there = ", ".join(one.file for one in list(files)[:12]) or "none"
        raise InvalidRequestError(
            f"{repo}: {len(meant) or 'no'} files fit", f"Name one with --file. GGUF files: {there}"
        )
    (source,) = meant
    name = name_for(name, source.file)
    return ModelEntry(name, repo, licence or "not stated", "?", 1, 1, files[source], (source,)), licence


def completed(entry: ModelEntry, path: Path, licence: str) -> ModelEntry:
    """Returns the entry of `from_hub`, completed with the header of the downloaded file ``path``."""
    return replace(entry_of(path, entry.name, entry.sources[0], licence), bytes=entry.bytes)
