"""Measurements of models on this machine: the settings that `wim-edge tune` found, and reading speeds.

``tuned.json``, in the configuration folder, has one entry a line, so that damage to one line leaves the other entries
readable. ``speeds.json`` is in the cache folder; if this file cannot be read, no speed is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wim_edge.engine.protocols import Model
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.settings import Paths, Settings, read_small_file
from wim_edge.system.atomic_files import move_over, replace_file, write_text

TUNABLE = ("n_threads", "flash_attn", "n_batch", "kv_type")
_MIN_TOKENS = 256
"""The fewest tokens of a reading whose speed is saved."""
_MAX_SPEEDS = 64
"""The most models whose speeds are kept."""


def load(model: Path) -> dict[str, Any]:
    """Returns the settings that tune found for a model's file; empty if none, or if file, machine or build changed."""
    entry = _read()[0].get(str(model.absolute()))
    if not isinstance(entry, dict):
        return {}
    from wim_edge.engine.tune import machine

    try:
        if entry["file"] != _file(model) or entry["machine"] != machine():
            return {}
        known = {name: value for name, value in entry["settings"].items() if name in TUNABLE}
        Settings(**known)  # raises if the file was edited to an invalid value
        return known
    except (KeyError, TypeError, AttributeError, OSError, InvalidRequestError):  # anyone may edit the file
        return {}


def save(model: Path, settings: Mapping[str, Any] | None) -> None:
    """Saves the fastest settings for a model's file; if ``settings`` is None, removes the saved ones. Moves a damaged
    tuned.json aside, and keeps its readable entries. Raises LibraryError."""
    from wim_edge.engine.tune import machine

    entries, damaged = _read()
    store, name = _store(), str(model.absolute())
    entries.pop(name, None)
    if settings is not None:
        entries[name] = {"file": _file(model), "machine": machine(), "settings": dict(settings)}
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
        with replace_file(store) as part:
            part.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            if damaged:
                move_over(store, store.with_name("tuned.json.damaged"))
    except OSError as error:
        hint = "Free some space, and tune again."
        raise LibraryError(f"{store}: what tune found cannot be saved ({error.strerror})", hint) from error


def changes(settings: Settings) -> dict[str, Any]:
    """Returns the tunable settings that differ from their defaults."""
    return {name: getattr(settings, name) for name in TUNABLE if getattr(settings, name) != getattr(Settings, name)}


def known_speed(model: Model) -> float | None:
    """Returns the speed of the model's last long reading here, in tokens a second; None if there was none."""
    try:
        speed = _object(_speeds()).get(model.fingerprint)
    except OSError:  # the model's file is gone
        return None
    return float(speed) if isinstance(speed, int | float) and 1e-3 < speed < 1e9 else None


def note_speed(model: Model, tokens: int, seconds: float) -> None:
    """Saves the speed of a reading, ``tokens / seconds``, if ``tokens`` is at least 256."""
    if tokens < _MIN_TOKENS or seconds <= 0:
        return
    with suppress(OSError):
        speeds = {**_object(_speeds()), model.fingerprint: round(tokens / seconds, 1)}
        _speeds().parent.mkdir(parents=True, exist_ok=True)
        write_text(_speeds(), json.dumps(dict(list(speeds.items())[-_MAX_SPEEDS:])))


def _read() -> tuple[dict[str, Any], bool]:
    """Returns ({path of a model: its entry}, whether tuned.json is damaged). Leaves out entries that can't be read."""
    try:
        data = read_small_file(_store())
    except OSError as error:
        return {}, not isinstance(error, FileNotFoundError | NotADirectoryError)
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found, dict):
            return found, False
    entries: dict[str, Any] = {}
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            entries |= json.loads(b"{%b}" % line.rstrip(b","))
    return {name: entry for name, entry in entries.items() if isinstance(entry, dict) and "machine" in entry}, True


def _object(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file as a dict; an empty dict if the file is missing, damaged or has no object."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_small_file(path))
        return found if isinstance(found, dict) else {}
    return {}


def _store() -> Path:
    return Paths.from_environment().config / "tuned.json"


def _speeds() -> Path:
    return Paths.from_environment().cache / "speeds.json"


def _file(model: Path) -> list[int]:
    state = os.stat(model)
    return [state.st_size, state.st_mtime_ns]
