"""Other machines than this one, by their memory: which models of the catalog they hold, with how much context."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wim_edge.catalog.catalog import EMBEDDED, MEMORY_SHARE
from wim_edge.catalog.entry import WORKING_SPACE, ModelEntry
from wim_edge.errors import InvalidRequestError

MACHINES = {"raspberry-pi-4": 4, "raspberry-pi-5": 8}
"""The memory in GiB of machines by their names, of the kind that most people have."""
_MORE_PER_TOKEN = 150_000
"""Bytes that a token of context takes beside the KV cache at most: scores in a batch, states to return to."""
_GIB = 1 << 30
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*G(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True)
class HeldModel:
    """A model that a machine holds: bytes of its file, and the most tokens of context beside it."""

    name: str
    nbytes: int
    context: int


def memory_of(machine: str) -> int:
    """Returns the bytes of memory of a machine: one of `MACHINES`, or a size ("16GB"). Raises InvalidRequestError."""
    size = _SIZE.fullmatch(machine.strip())
    gib = MACHINES.get(machine.strip().lower()) or (float(size[1]) if size else 0)
    if not gib:
        raise InvalidRequestError(
            f"{machine!r} is no machine that is known", f"It takes {', '.join(MACHINES)}, or its memory: 16GB."
        )
    return int(gib * _GIB)


def held_by(memory: int, catalog: Iterable[ModelEntry]) -> list[HeldModel]:
    """Returns the models that so many bytes of memory hold, from the best one down, each with the context that it has
    room for at least: file, working space, an f16 KV cache and what else a context takes, within models' share. Beside
    a model that writes there is room for the judge, if the catalog has it."""
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
