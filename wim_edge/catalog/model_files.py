"""Model files on disk: free space, checksums, and files joined from parts."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from wim_edge.errors import DiskError, DownloadError
from wim_edge.system.atomic_files import replace_file

Progress = Callable[[int, int | None], None]
"""A callback for progress: (bytes done, bytes in total or None if unknown)."""

Opener = Callable[[], AbstractContextManager[IO[bytes]]]
_CHUNK = 1024**2


def megabytes(size: int) -> str:
    """Formats a number of bytes for people: ``12 kB``, ``640 MB``, ``5.0 GB`` (powers of ten, as disks count)."""
    if 0 < size < 1e6:
        return f"{max(1, size // 1000)} kB"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def require_space(folder: Path, need: int) -> None:
    """Creates ``folder``. Raises DiskError if that fails, or if the disk has fewer than ``need`` free bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise write_error(error, folder, need) from error
    if free < need:
        raise _disk_full(folder, need, free)


def write_error(error: OSError, folder: Path, need: int) -> DiskError:
    """Returns the DiskError for an OSError raised while writing ``need`` bytes to ``folder``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        there = next(one for one in (folder, *folder.parents) if one.is_dir())  # the folder itself may be missing
        return _disk_full(folder, need, shutil.disk_usage(there).free)
    what = error.strerror or str(error)
    return DiskError(f"{folder}: {what}", "WIM_EDGE_HOME can name another folder to keep things in.")


def _disk_full(folder: Path, need: int, free: int) -> DiskError:
    return DiskError(
        f"The disk of {folder} is full: {megabytes(need)} needed, {megabytes(free)} free",
        "Free some space (`wim-edge models remove NAME`), or point WIM_EDGE_HOME at another disk.",
    )


def check_sha256(path: Path, expected: str | None) -> None:
    """Raises DownloadError if the file's SHA-256 is not ``expected`` (hexadecimal). None allows any SHA-256."""
    if expected is None:
        return
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise DownloadError(
            f"{path.name} is not the expected file: SHA-256 {actual[:12]}..., not {expected[:12]}...",
            "Pull the model again; if it differs again, its source has changed: correct models.toml.",
        )


def join(openers: Iterable[Opener], target: Path, total: int, progress: Progress) -> None:
    """Writes the contents of all streams, in order, to the one file ``target``, atomically. Raises DiskError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    try:
        with replace_file(target) as part, part.open("wb") as out:
            for opener in openers:
                with opener() as stream:
                    while block := stream.read(_CHUNK):
                        out.write(block)
                        done += len(block)
                        progress(done, total)
    except OSError as error:
        raise write_error(error, target.parent, total) from error
