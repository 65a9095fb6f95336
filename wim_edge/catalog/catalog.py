"""The catalog: the shipped entries and the user's own, which may be added, and the choice of a model for a run."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wim_edge.catalog.entry import WORKING_SPACE, HubSource, ModelEntry, ModelSource, PathSource
from wim_edge.catalog.sources import locate
from wim_edge.errors import InvalidRequestError, ModelNotFoundError
from wim_edge.settings import Paths, package_file, read_small_file
from wim_edge.system.atomic_files import replace_file

EMBEDDED = "smollm2-135m"
"""The name of the model that fits every machine: the default if no better one is on disk."""
SCOUT = "all-minilm-l6-v2"
"""The name of the embedding model that chooses which segments the judge reads first."""
MEMORY_SHARE = 0.8
"""A model fits a machine if it needs at most this share of the machine's memory."""


@dataclass(frozen=True)
class Catalog:
    """The catalog's entries by name: the shipped entries, and the user's own."""

    entries: Mapping[str, ModelEntry]

    @classmethod
    def load(cls) -> Catalog:
        """Loads the shipped models.toml and, over it, the user's own. Raises ModelError if one is unusable."""
        from wim_edge.catalog.parse import read_models

        return cls(read_models(package_file("models.toml")) | read_models(own_file()))

    def __iter__(self) -> Iterator[ModelEntry]:
        """Yields the entries from the lowest rank to the highest."""
        return iter(sorted(self.entries.values(), key=lambda entry: (entry.rank, entry.name)))

    def get(self, name: str) -> ModelEntry:
        """Returns the entry with this name. Raises ModelNotFoundError, whose hint lists similar names."""
        if name in self.entries:
            return self.entries[name]
        near = difflib.get_close_matches(name.lower(), self.entries, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`wim-edge models list` shows the names."
        raise ModelNotFoundError(f"No model is called {name!r}", hint)


def own_file() -> Path:
    """Returns the path of the user's own models.toml, which may not exist."""
    return Paths.from_environment().config / "models.toml"


@dataclass(frozen=True)
class ResolvedModel:
    """A model to load: ``entry`` is None for a file that was given by its path."""

    name: str
    path: Path
    entry: ModelEntry | None

    @property
    def suggested(self) -> Mapping[str, Any]:
        """The settings that models.toml suggests for the model; empty if the model has no entry."""
        return self.entry.settings if self.entry else {}


def fits_machine(need: int) -> bool:
    """Returns whether ``need`` bytes are at most MEMORY_SHARE of the memory that this process may use."""
    from wim_edge.engine import available_memory

    return need <= MEMORY_SHARE * available_memory.total()


def recommended(catalog: Catalog) -> ModelEntry:
    """Returns the highest ranked model that fits the machine's memory with the judge it needs, else `EMBEDDED`."""
    return next(_fitting(catalog), catalog.get(EMBEDDED))


def _fitting(catalog: Catalog) -> Iterator[ModelEntry]:
    """Yields the models with a rank above 0 (writers and the judge) that fit the machine, the highest rank first."""
    for entry in reversed([one for one in catalog if one.rank]):
        found = locate(entry)
        size = found.stat().st_size if found else None
        if fits_machine(entry.memory_bytes(size, _judge_of(entry, catalog, found))):
            yield entry


def resolve(model: str | None) -> ResolvedModel:
    """Returns the model to load. ``model``: a name, or a path (of a file that may be missing). None chooses the highest
    ranked model on this disk that fits the machine, else `EMBEDDED`. Raises ModelNotFoundError."""
    if model is not None and (model.endswith(".gguf") or any(one in model for one in (os.sep, os.altsep) if one)):
        path = Path(os.path.expanduser(model))
        return ResolvedModel(path.stem, path, None)
    catalog = Catalog.load()
    if model is None:
        for entry in (*_fitting(catalog), catalog.get(EMBEDDED)):  # a tight fit is better than no model
            if found := locate(entry):
                return ResolvedModel(entry.name, found, entry)
        raise ModelNotFoundError("No model that fits is on this disk", f"wim-edge models pull {EMBEDDED}")
    if model not in catalog.entries and os.path.isfile(model):
        return ResolvedModel(Path(model).stem, Path(model), None)
    entry = catalog.get(model)
    found = locate(entry)
    if found is None:
        raise ModelNotFoundError(f"{model} is not on this disk", f"wim-edge models pull {model}")
    return ResolvedModel(entry.name, found, entry)


def is_here(name: str) -> bool:
    """Returns whether the model of this name is on this disk."""
    entry = Catalog.load().entries.get(name)
    return entry is not None and locate(entry) is not None


def _judge_of(entry: ModelEntry, catalog: Catalog, found: Path | None) -> ModelEntry | None:
    """Returns the entry of the judge that a writer needs, on this disk or not. Returns None for the judge itself and
    for models that do not write: embedding models, and models with ``prose = false``. ``found``: the entry's file."""
    writes = entry.writes and not _embeds(entry, found)
    return catalog.get(EMBEDDED) if writes and entry.name != EMBEDDED else None


def _embeds(entry: ModelEntry, found: Path | None) -> bool:
    """Returns whether a model embeds texts, by its entry or by its file ``found`` (None: not on this disk)."""
    from wim_edge.engine.gguf import is_embedding_model

    return entry.embeds or (found is not None and is_embedding_model(found))


def companions(entry: ModelEntry, catalog: Catalog) -> list[ModelEntry]:
    """Returns the models that a model needs, on this disk or not: judge and scout for a writer, scout for the judge."""
    judge = _judge_of(entry, catalog, locate(entry))
    scout = catalog.entries.get(SCOUT) if judge is not None or entry.name == EMBEDDED else None
    return [one for one in (judge, scout) if one is not None]


def facts(entry: ModelEntry, catalog: Catalog) -> dict[str, Any]:
    """Returns a model's properties by name. ``bytes``: the file's size; ``memory_bytes``: estimated, with the judge."""
    found = locate(entry)
    judge, embeds = _judge_of(entry, catalog, found), _embeds(entry, found)
    size = found.stat().st_size if found else entry.bytes
    need = entry.memory_bytes(size, judge)
    stated = {name: getattr(entry, name) for name in ("name", "description", "licence", "parameters", "context")}
    return stated | {
        "bytes": size, "judge": judge.name if judge else None, "memory_bytes": need, "fits": fits_machine(need),
        "path": str(found) if found else None, "embeds": embeds, "writes": entry.writes and not embeds,
    }  # fmt: skip


MACHINES = {"raspberry-pi-4": 4, "raspberry-pi-5": 8}
"""The memory in GiB of common machines, by name."""
_MORE_PER_TOKEN = 150_000
"""The most bytes that a token of context needs besides the KV cache: attention scores of a batch, checkpoints."""
_GIB = 1 << 30
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*G(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class HeldModel:
    """A model that fits a machine, with the bytes of its file and the longest context, in tokens, that also fits."""

    name: str
    nbytes: int
    context: int


def memory_of(machine: str) -> int:
    """Returns the bytes of memory of a machine: a name in `MACHINES` or a size ("16GB"). Raises InvalidRequestError."""
    size = _SIZE.fullmatch(machine.strip())
    gib = MACHINES.get(machine.strip().lower()) or (float(size[1]) if size else 0)
    if not gib:
        raise InvalidRequestError(
            f"{machine!r} is not a known machine", f"It takes {', '.join(MACHINES)}, or its memory: 16GB."
        )
    return int(gib * _GIB)


def held_by(memory: int, catalog: Iterable[ModelEntry]) -> list[HeldModel]:
    """Returns the models that fit in ``memory`` bytes, best first, each with its longest context. File, WORKING_SPACE,
    f16 KV cache, other needs and, for a writer, the catalog's judge take at most MEMORY_SHARE of it."""
    entries = sorted(catalog, key=lambda entry: -entry.rank)
    judge = next((entry for entry in entries if entry.name == EMBEDDED), None)
    found = []
    for entry in entries:
        beside = judge.memory_bytes() if judge not in (None, entry) and entry.writes else WORKING_SPACE
        left = int(MEMORY_SHARE * memory) - entry.bytes - beside
        context = min(entry.context, left // ((entry.kv_bytes_per_token or 0) + _MORE_PER_TOKEN))
        if entry.rank and context >= 512:
            found.append(HeldModel(entry.name, entry.bytes, context))
    return found


# The user's own entries, made from a model file's header

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
    from wim_edge.catalog.parse import NAME

    name = given or re.sub(r"[^a-z0-9._-]+", "-", Path(path).stem.lower()).strip("-._")
    if not NAME.fullmatch(name) or name.endswith(".gguf"):
        raise InvalidRequestError(f"{name!r} is not a model name", "Lower-case letters, digits, '.', '_' and '-'.")
    return name


def add(entry: ModelEntry) -> Path:
    """Adds an entry to the user's own models.toml; returns the file's path. Raises InvalidRequestError, ModelError."""
    from wim_edge.catalog.parse import read_models

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
