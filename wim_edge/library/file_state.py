"""The state of a file on disk: is it still the file that was read?"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

_LATEST = 2**63 - 1  # nanoseconds that SQLite can store, in the year 2262


@dataclass(frozen=True)
class FileState:
    """A file, as it was when it was read."""

    mtime_ns: int
    size: int
    stamp: int = 0
    """A checksum of what changes with every write: times, size and inode. 0 if an earlier version read the file."""
    digest: bytes = b""
    """The SHA-256 of its bytes; empty if it is unknown."""


def state_of(stat: os.stat_result, digest: bytes = b"") -> FileState:
    """Returns the state for a result of `os.stat`. The modification time alone proves nothing: rsync, zip and touch
    restore it, but they change the inode or its ctime."""
    parts = (stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino)
    stamp = int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=7).digest())
    return FileState(min(stat.st_mtime_ns, _LATEST), stat.st_size, stamp, digest)


def digest_of(path: Path) -> bytes:
    """Returns the SHA-256 of a file's bytes. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def has_changed(path: Path, known: FileState) -> bool:
    """Returns True if a file's bytes differ from those that were read. Raises OSError, ValueError."""
    now = state_of(path.stat())
    if not known.digest:
        return (now.mtime_ns, now.size) != (known.mtime_ns, known.size)
    return now.size != known.size or digest_of(path) != known.digest
