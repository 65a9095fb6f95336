"""Atomic writes: after a kill, a full disk or a power cut, a path has the complete old file or the complete new one."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PART = ".part"
"""The suffix of a file that is being written."""
_NAME = re.compile(rf"[0-9a-f]{{32}}{re.escape(PART)}")
_IN_USE = (5, 32)  # Windows' codes: access denied, a sharing violation
_WAITS = (0.01, 0.04, 0.15, 0.3, 0.5)  # seconds before each further try
_ABANDONED = 3600.0  # seconds without a change after which a part belongs to a killed process


@contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yields the path of a new empty file. It replaces ``path`` after the block; if the block raises, it is deleted.
    ``private``: no other user may read it. Also deletes new files that killed processes left. Raises OSError."""
    _sweep(path.parent)
    part = path.with_name(uuid.uuid4().hex + PART)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        move_over(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a UTF-8 file atomically; escapes characters that UTF-8 cannot encode, as in some paths. Raises OSError."""
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: Path, data: object) -> None:
    """Writes data as indented JSON to a file, atomically. Raises OSError."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def move_over(source: Path, target: Path) -> None:
    """Moves ``source`` over ``target``. Retries for a second: Windows refuses while either is open. Raises OSError."""
    for seconds in (*_WAITS, None):
        try:
            source.replace(target)
            return
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _IN_USE:
                raise
            if seconds is None:
                what = "another program has it open, or it may not be replaced"
                raise PermissionError(error.errno, what, str(target)) from error
            time.sleep(seconds)


def _sweep(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.stat().st_mtime < time.time() - _ABANDONED:
                os.unlink(entry.path)
