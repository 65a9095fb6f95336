"""The memory that this process may use: the machine's, or less under a limit. Control groups (Linux, versions 1 and 2:
containers, systemd's MemoryMax) limit memory; the kernel kills a process above their limit. ``ulimit -v`` limits
address space; when it runs out, llama.cpp ends the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wim_edge.errors import MemoryBudgetError

_CGROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_MIN_ADDRESSES = 256 << 20
_SLACK = 96 << 20  # bytes of address space for threads' stacks and allocators' reserves
_VERSIONS = {
    "": ((".", "unified"), "memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": (("memory",), "memory.limit_in_bytes", "memory.usage_in_bytes",
               ("total_active_file", "total_inactive_file")),
}  # fmt: skip
"""Maps a cgroup controller to (folders, limit file, usage file, keys in memory.stat that count reclaimable pages)."""


def total() -> int:
    """Returns the most bytes of memory that this process may use: the machine's memory, or the lowest limit if less."""
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _limits())])


def require_minimum() -> None:
    """Raises MemoryBudgetError if the address-space limit is below 256 MiB: libraries would fail without a message."""
    limit = _address_limit()
    if limit is not None and limit < _MIN_ADDRESSES:
        raise MemoryBudgetError(
            f"this process is limited to {limit >> 20} MiB of address space",
            f"Allow at least {_MIN_ADDRESSES >> 20} MiB (ulimit -v).",
        )


def memory_hint() -> str:
    """Returns a phrase that says how to give this process more memory, such as "close programs"."""
    import psutil

    if any(limit - used < psutil.virtual_memory().available for limit, used in _limits()):
        return "raise this process's memory limit"
    return "close programs"


def available(mapped: int = 0) -> int:
    """Returns the bytes that this process may still allocate. ``mapped``: bytes of mapped files that must stay in
    memory; they are subtracted, because the system counts their pages as available."""
    import psutil

    free = [int(psutil.virtual_memory().available), *(limit - used for limit, used in _cgroups())]
    return max(0, min([one - mapped for one in free] + [limit - used for limit, used in _address_space()]))


def private_bytes() -> int:
    """Returns this process's resident memory in bytes; on Linux without the pages of mapped files and shared memory."""
    import psutil

    held = psutil.Process().memory_info()
    return int(held.rss - getattr(held, "shared", 0))


def _limits() -> list[tuple[int, int]]:
    """Returns (limit, usage) in bytes for each memory limit that applies to this process."""
    return [*_cgroups(), *_address_space()]


def _cgroups() -> Iterator[tuple[int, int]]:
    """Yields (limit, usage without reclaimable pages), in bytes, of this process's control groups and all their
    parents, up to the root: in a container, /proc/self/cgroup may name a path that exists only on the host."""
    with suppress(OSError, ValueError):  # not Linux
        for line in _OWN.read_text(encoding="utf-8").splitlines():
            _, controllers, own = line.split(":", 2)
            path = Path(own.lstrip("/"))
            for controller in controllers.split(","):
                folders, limit, usage, cached = _VERSIONS.get(controller, ((), "", "", ()))
                for group in (_CGROUPS / folder / one for folder in folders for one in (path, *path.parents)):
                    with suppress(OSError, ValueError):  # the text "max" means no limit
                        most, used = int((group / limit).read_bytes()), int((group / usage).read_bytes())
                        stat = dict(one.split() for one in (group / "memory.stat").read_text("utf-8").splitlines())
                        yield most, used - sum(int(stat.get(name, 0)) for name in cached)


def _address_space() -> Iterator[tuple[int, int]]:
    limit = _address_limit()
    if limit is not None:
        import psutil

        yield limit - _SLACK, int(psutil.Process().memory_info().vms)


def _address_limit() -> int | None:
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            return limit
    return None
