"""The settings that `wim-edge tune` found for a model on this machine, kept for every later run.

They stand in one JSON file in the configuration folder, an entry a line, so that damage to one costs no other; an
entry counts only for the file, machine and build that it was measured with. The user's own settings come first.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.settings import Paths, Settings, read_small_file
from wim_edge.system.atomic_files import move_over, replace_file

TUNABLE = ("n_threads", "flash_attn", "n_batch", "kv_type")


@dataclass(frozen=True)
class Tuned:
    """The fastest way of running a model: settings, and a copy of its file in another weight type if that is faster."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    copy: str | None = None
    """The path of the copy; None: the file as it is."""


def load(paths: Paths, model: Path) -> Tuned:
    """Returns what was found for this file; nothing if it, the machine or the build has changed since."""
    entry = _read(paths)[0].get(str(model.absolute()))
    if not isinstance(entry, dict):
        return Tuned()
    from wim_edge.engine.tune import machine

    try:
        if entry["file"] != _file(model) or entry["machine"] != machine():
            return Tuned()
        known = {name: value for name, value in entry["settings"].items() if name in TUNABLE}
        Settings(**known)  # raises where the file was edited to something else
        copy = entry["copy"]
        return Tuned(known, copy if isinstance(copy, str) and "\0" not in copy else None)
    except (KeyError, TypeError, AttributeError, OSError, InvalidRequestError):  # anyone may edit the file
        return Tuned()


def save(paths: Paths, model: Path, tuned: Tuned | None) -> None:
    """Keeps what was found for this file, or forgets it if ``tuned`` is None; the other entries stay as they are.

    A damaged file is moved aside, and those of its entries that can be read are kept. Raises LibraryError if what
    was found cannot be kept.
    """
    from wim_edge.engine.tune import machine

    entries, damaged = _read(paths)
    entries.pop(str(model.absolute()), None)
    if tuned is not None:
        entries[str(model.absolute())] = {"file": _file(model), "machine": machine(), **asdict(tuned)}
    try:
        paths.config.mkdir(parents=True, exist_ok=True)
        lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        with replace_file(_store(paths)) as part:
            part.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            if damaged:
                move_over(_store(paths), _store(paths).with_name("tuned.json.damaged"))
    except OSError as error:
        raise LibraryError(
            f"{_store(paths)}: what tune found cannot be kept ({error.strerror})", "Free some space, and tune again."
        ) from error


def copies(paths: Paths, model: Path) -> Path:
    """Returns the folder of this file's copies in other weight types."""
    return paths.models / "tuned" / hashlib.blake2b(os.fsencode(model.absolute()), digest_size=6).hexdigest()


def changes(settings: Settings) -> dict[str, Any]:
    """Returns the tunable settings that are not at their default."""
    default = Settings()
    return {name: getattr(settings, name) for name in TUNABLE if getattr(settings, name) != getattr(default, name)}


def _read(paths: Paths) -> tuple[dict[str, Any], bool]:
    """Returns the entries, and whether the file is damaged; if it is, the entries whose lines are whole."""
    try:
        data = read_small_file(_store(paths))
    except OSError as error:
        return {}, not isinstance(error, FileNotFoundError | NotADirectoryError)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found, False
    entries: dict[str, Any] = {}
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            entries |= json.loads(b"{%b}" % line.rstrip(b","))
    return {name: entry for name, entry in entries.items() if isinstance(entry, dict) and "machine" in entry}, True


def _store(paths: Paths) -> Path:
    return paths.config / "tuned.json"


def _file(model: Path) -> list[int]:
    state = os.stat(model)
    return [state.st_size, state.st_mtime_ns]
