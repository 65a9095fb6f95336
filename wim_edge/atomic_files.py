"""Files that are written whole or not at all, whatever ends the process meanwhile.

A file has another name while it is written, and is on the disk before it gets its own: after a kill, a full disk or
a power cut there is the old file or the new one.
"""

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
"""The ending of a file that is being written."""
_NAME = re.compile(rf"[0-9a-f]{{32}}{re.escape(PART)}")
_ABANDONED = 3600.0  # seconds without a change after which such a file is a killed process's


@contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yields an empty file beside ``path``, which takes the place of ``path`` at the end.

    Any error meanwhile removes it, and leaves the old file as it was. ``private``: no other user may read it.
    Removes files that killed processes have left in the folder. Raises OSError.
    """
    _sweep(path.parent)
    part = path.with_name(uuid.uuid4().hex + PART)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666))
        yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file; characters that UTF-8 cannot hold, as in some paths, are escaped. Raises OSError."""
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, data: object) -> None:
    """Writes JSON for people to read. Raises OSError."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _sweep(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.stat().st_mtime < time.time() - _ABANDONED:
                os.unlink(entry.path)
