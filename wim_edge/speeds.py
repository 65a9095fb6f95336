"""The speeds of models' readings on this machine, which tell whether a text can be read whole in reasonable time.

They stand in one small JSON file in the cache folder, as a convenience: if it cannot be read, no speed is known.
"""

from __future__ import annotations

import json
from contextlib import suppress

from wim_edge.engine.protocols import Model
from wim_edge.settings import Paths, read_small_file
from wim_edge.system.atomic_files import write_text

_LEAST = 256  # tokens: fewer tell little
_MODELS = 64  # that are remembered


def known(model: Model) -> float | None:
    """Returns the tokens a second of this model's last reading of some length here; None if there was none."""
    try:
        speed = _read().get(model.fingerprint)
    except OSError:
        return None
    return float(speed) if isinstance(speed, int | float) and 1e-3 < speed < 1e9 else None


def note(model: Model, tokens: int, seconds: float) -> None:
    """Remembers the speed of a reading that was long enough to tell it."""
    if tokens < _LEAST or seconds <= 0:
        return
    path = Paths.from_environment().cache / "speeds.json"
    with suppress(OSError):
        speeds = {**_read(), model.fingerprint: round(tokens / seconds, 1)}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(dict(list(speeds.items())[-_MODELS:])))


def _read() -> dict[str, object]:
    try:
        found = json.loads(read_small_file(Paths.from_environment().cache / "speeds.json"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
