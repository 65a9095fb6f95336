"""Control groups: a command in less and less memory works, or reports that it does not fit; it is never killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
MIB = 1 << 20


@contextmanager
def group(mib: int) -> Iterator[Path | None]:
    """Yields a control group with this limit and no swap; None if the system refuses one."""
    one = (_V1 if (_V1 / "tasks").exists() else _V2) / f"wim-edge-{os.getpid()}-{mib}-{os.urandom(3).hex()}"
    try:
        one.mkdir()
        limit = "memory.limit_in_bytes" if one.parent == _V1 else "memory.max"
        (one / limit).write_text(str(mib * MIB))
        with suppress(OSError):  # no swap on this machine
            (one / "memory.swap.max").write_text("0")
    except OSError:
        yield None
        return
    try:
        yield one
    finally:
        for _ in range(100):  # children of a killed process end a moment later
            try:
                one.rmdir()
                break
            except OSError:
                time.sleep(0.05)
