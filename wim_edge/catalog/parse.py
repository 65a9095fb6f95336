"""Strict parsing of models.toml: an unknown key or a wrong type raises an error that names its place."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from wim_edge.catalog.entry import HubSource, ModelEntry, ModelSource, PackagePart, PackageSource, PathSource
from wim_edge.engine.gguf import WEIGHT_TYPES
from wim_edge.errors import InvalidRequestError, ModelError
from wim_edge.settings import NO_DEVICE, Settings, read_small_file
from wim_edge.support import Confirmation, SupportWeights
from wim_edge.system.convert import T, convert

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


class _Strict(Struct, forbid_unknown_fields=True):
    """A table of models.toml, in which an unknown key is an error."""


class _File(_Strict):
    models: Table = {}


class _Entry(_Strict):
    description: Text
    licence: Text
    parameters: Text
    context: Count
    rank: Annotated[int, Meta(ge=0, le=2**53, description="a whole number from 0 to 2^53")]
    bytes: Count
    sha256: Sha256 | None = None
    source: Table = {}
    sources: list[Table] = []
    kv_bytes_per_token: Count | None = None
    settings: Table = {}
    support: Table = {}
    confirmation: Table = {}
    chat: Table = {}
    embeds: bool = False
    requantized: WeightType | None = None
    requantized_bytes: Count | None = None


class _Kind(Struct):
    kind: Annotated[Literal["hub", "package", "path"], Meta(description="one of hub, package, path")]


class _Source(_Strict):
    kind: str
    sha256: Sha256 | None = None


class _Hub(_Source, kw_only=True):
    repo: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*\Z", description="owner/name")]
    file: Gguf
    revision: Text = "main"


class _Path(_Source, kw_only=True):
    path: Text


class _Part(_Strict):
    requirement: Requirement
    module: Module
    resource: InnerPath


class _Whole(_Part, kw_only=True):  # a package that contains the whole file
    kind: str
    sha256: Sha256 | None = None
    format: Annotated[Literal["minilm"], Meta(description="minilm")] | None = None


class _Parts(_Source, kw_only=True):
    file: Gguf
    parts: Annotated[list[Table], Meta(min_length=1, description="a list of tables")]


class _Pattern(_Source, kw_only=True):  # {n} is the number of a part, {n:02} with two digits
    file: Gguf
    parts: Annotated[int, Meta(ge=1, le=999, description="a list of tables, or their number from 1 to 999")]
    requirement: Requirement
    module: Text
    resource: Text


def read_models(file: Path) -> dict[str, ModelEntry]:
    """Returns the entries of a models.toml as {name: entry}, empty if the file does not exist. Raises ModelError."""
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
    return {name: _entry(name, data, file) for name, data in models.items()}


def _table(data: Any, kind: type[T], where: str) -> T:
    """Converts a TOML table to the struct ``kind``; strips its texts. Messages of ModelError begin with ``where``."""
    if isinstance(data, dict):
        data = {key: value.strip() if isinstance(value, str) else value for key, value in data.items()}
    return convert(data, kind, where, ModelError)


def _entry(name: str, data: Any, file: Path) -> ModelEntry:
    where = f"{file}: models.{name}"
    table = _table(data, _Entry, where)
    sources = _sources(table, where, file)
    _check_settings(table.settings, f"{where}.settings")
    for key, weights in (("support", SupportWeights), ("confirmation", Confirmation)):
        try:
            weights.from_mapping(getattr(table, key))
        except ValueError as error:
            raise ModelError(f"{where}.{key}: {error}", "wim-edge eval answerable fits them.") from error
    facts = {key: value for key, value in asdict(table).items() if key not in ("source", "sha256")}
    return ModelEntry(name=name, **facts | {"sources": sources})


def _sources(table: _Entry, where: str, file: Path) -> tuple[ModelSource, ...]:
    """Returns an entry's sources in the order in which they are tried, each with the checksum that all share."""
    if bool(table.source) == bool(table.sources):
        what = "has source and sources" if table.source else "has no source"
        raise ModelError(f"{where} {what}", f"Write one of [{where.rpartition(': ')[2]}.source] and [[...sources]].")
    if table.source:
        found = [_source(table.source, f"{where}.source", file)]
    else:
        found = [_source(one, f"{where}.sources[{i}]", file) for i, one in enumerate(table.sources)]
    sums = {one.sha256 for one in found if one.sha256} | ({table.sha256} if table.sha256 else set())
    if len(sums) > 1:
        raise ModelError(f"{where}: the values of sha256 differ", "All sources of a model hold the same file.")
    if len(found) > 1 and not sums:
        raise ModelError(f"{where}.sha256 is missing", "Several sources need the checksum that they share.")
    return tuple(replace(one, sha256=next(iter(sums), None)) for one in found)


def _source(data: Table, where: str, file: Path) -> ModelSource:
    match _table(data, _Kind, where).kind:
        case "hub":
            hub = _table(data, _Hub, where)
            if _SHARD.fullmatch(hub.file):
                hint = 'Fetch all parts into one folder, and name the first with kind = "path".'
                raise ModelError(f"{where}.file is one part of several", hint)
            return HubSource(hub.repo, hub.file, hub.revision, hub.sha256)
        case "package" if isinstance(data.get("parts"), int):
            pattern = _table(data, _Pattern, where)
            return PackageSource(_numbered(pattern, where), pattern.file, pattern.sha256)
        case "package" if "parts" in data:
            table = _table(data, _Parts, where)
            parts = [_table(part, _Part, f"{where}.parts[{i}]") for i, part in enumerate(table.parts)]
            return PackageSource(tuple(PackagePart(**asdict(part)) for part in parts), table.file, table.sha256)
        case "package":
            whole = _table(data, _Whole, where)
            part = PackagePart(whole.requirement, whole.module, whole.resource)
            resource = PurePosixPath(part.resource)
            name = resource.with_suffix(".gguf").name if whole.format else resource.name
            return PackageSource((part,), name, whole.sha256, whole.format)
        case _:  # relative to models.toml, not to the working directory
            own = _table(data, _Path, where)
            return PathSource(file.parent / Path(own.path).expanduser(), own.sha256)


def _numbered(pattern: _Pattern, where: str) -> tuple[PackagePart, ...]:
    """Returns a pattern's package parts: its texts with {n} replaced by 1, 2 and so on, up to ``pattern.parts``."""
    found = []
    for n in range(1, pattern.parts + 1):
        one = {key: _NUMBER.sub(lambda number: str(n).zfill(int(number[1] or 0)), getattr(pattern, key))  # noqa: B023
               for key in ("requirement", "module", "resource")}  # fmt: skip
        found.append(PackagePart(**asdict(_table(one, _Part, where))))
    if len(set(found)) < len(found):
        raise ModelError(f"{where}: the {pattern.parts} parts are the same", "Write {n} for the number of a part.")
    return tuple(found)


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
