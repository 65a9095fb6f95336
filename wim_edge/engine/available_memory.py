"""The memory that this process may take: the machine's, or less if somebody has set a limit.

Limits are those of the control groups that the process is in (containers, systemd's MemoryMax; Linux, versions 1
and 2), and of its address space (``ulimit -v``). Above the first the system kills the process, above the second
llama.cpp ends it, so both are looked at beforehand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wim_edge.errors import MemoryBudgetError

_CGROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_LEAST = 256 << 20  # of address space
_SLACK = 96 << 20  # of address space: stacks of threads and what allocators set aside


@dataclass(frozen=True)
class _Version:
    """The folders and files in which a version of control groups keeps its figures."""

    folders: tuple[str, ...]
    limit: str
    used: str
    cached: tuple[str, ...]
    """The statistics of the pages of files, which are given back when asked for."""


_VERSIONS = {
    "": _Version((".", "unified"), "memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": _Version(("memory",), "memory.limit_in_bytes", "memory.usage_in_bytes",
                       ("total_active_file", "total_inactive_file")),
}  # fmt: skip


def total() -> int:
    """Returns the bytes of memory that this process could have if nothing else were in it."""
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _limits())])


def require_minimum() -> None:
    """Raises MemoryBudgetError if memory is too small to read anything: threads and libraries would end silently."""
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if resource.RLIM_INFINITY != limit < _LEAST:
            raise MemoryBudgetError(
                f"this process may have {limit >> 20} MiB of addresses", f"Allow at least {_LEAST >> 20} (ulimit -v)."
            )


def memory_hint() -> str:
    """Returns advice on how to give this process more memory."""
    import psutil

    if any(limit - used < psutil.virtual_memory().available for limit, used in _limits()):
        return "raise this process's memory limit"
    return "close programs"


def available(mapped: int = 0) -> int:
    """Returns the bytes that this process may still take. ``mapped``: those of files that must stay in memory, although
    the system counts their pages as free."""
    import psutil

    free = [int(psutil.virtual_memory().available), *(limit - used for limit, used in _of_cgroups())]
    return max(0, min([one - mapped for one in free] + [limit - used for limit, used in _of_address_space()]))


def private_bytes() -> int:
    """Returns the bytes that this process holds without the pages of files, or with them if not told apart."""
    import psutil

    held = psutil.Process().memory_info()
    return int(held.rss - getattr(held, "shared", 0))


def _limits() -> list[tuple[int, int]]:
    """Returns all limits of this process, each with what of it is used, in bytes."""
    return [*_of_cgroups(), *_of_address_space()]


def _of_cgroups() -> Iterator[tuple[int, int]]:
    """Yields each limit of its control groups with what of it is used, in bytes."""
    with suppress(OSError, ValueError):  # not Linux
        for line in _OWN.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                if version := _VERSIONS.get(controller):
                    for folder in version.folders:
                        yield from _of_groups(_CGROUPS / folder, Path(path.lstrip("/")), version)


def _of_groups(root: Path, path: Path, version: _Version) -> Iterator[tuple[int, int]]:
    """Yields those of a group and the groups around it; in a container, whose path may be the host's, of the root."""
    for folder in (root / path, *(root / parent for parent in path.parents)):
        with suppress(OSError, ValueError):  # "max" is no limit
            limit, used = int((folder / version.limit).read_bytes()), int((folder / version.used).read_bytes())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="utf-8").splitlines())
            yield limit, used - sum(int(stat.get(name, 0)) for name in version.cached)


def _of_address_space() -> Iterator[tuple[int, int]]:
    if sys.platform != "win32":
        import resource

        import psutil

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield limit - _SLACK, int(psutil.Process().memory_info().vms)
    yield from ()
