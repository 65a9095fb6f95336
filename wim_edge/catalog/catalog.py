"""The catalog: the shipped entries and the user's own, and the choice of a model for a run."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wim_edge.catalog.entry import WORKING_SPACE, ModelEntry, read_models
from wim_edge.catalog.sources import locate
from wim_edge.errors import InvalidRequestError, ModelNotFoundError
from wim_edge.settings import Paths, package_file

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
        """Loads the shipped models.toml and the user's own, whose entries replace shipped ones of the same name. Raises
        ModelError if a file is unreadable or wrong."""
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
