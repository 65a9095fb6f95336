"""Less and less memory: each command under limits of its address space, and of a control group where one can be made.

It works, or says in a second or two that it does not fit; it is never killed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.attack.run import Outcome, command

SECONDS = 300.0
_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
_MIB = 1 << 20


@contextmanager
def group(mib: int) -> Iterator[Path | None]:
    """A control group of so much memory, and no swap; None where none can be made."""
    one = (_V1 if (_V1 / "tasks").exists() else _V2) / f"wim-edge-{os.getpid()}-{mib}-{os.urandom(3).hex()}"
    try:
        one.mkdir()
        limit = "memory.limit_in_bytes" if one.parent == _V1 else "memory.max"
        (one / limit).write_text(str(mib * _MIB))
        with suppress(OSError):  # no swap on this machine
            (one / "memory.swap.max").write_text("0")
    except OSError:
        yield None
        return
    try:
        yield one
    finally:
        for _ in range(100):  # children of a killed one go a moment later
            try:
                one.rmdir()
                break
            except OSError:
                time.sleep(0.05)


def in_group(what: str, arguments: Sequence[str], home: Path, mib: int) -> Outcome | None:
    """Run a command in a control group of so much memory; None where none can be made."""
    with group(mib) as folder:
        if folder is None:
            return None
        found = command(what, arguments, home, seconds=SECONDS, group=folder)
    return found if found.how != "killed" else Outcome(what, "CRASH", found.seconds, found.bytes, "killed")


def in_address_space(what: str, arguments: Sequence[str], home: Path, mib: int) -> Outcome:
    return command(what, arguments, home, seconds=SECONDS, most_bytes=mib * _MIB)


def cases(commands: dict[str, Sequence[str]], home: Path, sizes: Sequence[int]) -> Iterator[Callable[[], Outcome]]:
    """Each command with each size, in MiB."""
    with group(sizes[-1]) as made:
        can = made is not None
    for name, arguments in commands.items():
        for mib in sizes:
            yield partial(in_address_space, f"{name} in {mib} MiB of addresses", arguments, home, mib)
            if can:
                yield partial(in_group, f"{name} in {mib} MiB", arguments, home, mib)  # type: ignore[misc]
