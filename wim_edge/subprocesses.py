"""Processes of our own: this Python, this package, and nothing of the working directory."""

from __future__ import annotations

import contextlib
import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module of ours; -P keeps out modules of the working directory."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Returns an environment with the packages found here, where llama.cpp says in one line that it ends a process."""
    found = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": found, "GGML_NO_BACKTRACE": "1"}


def limit(address_space: int, seconds: int) -> None:
    """Limits this process if the system can: its memory in bytes, and its processor time, all threads together."""
    try:
        import resource
    except ImportError:
        return
    seconds *= os.cpu_count() or 1
    limits = (
        (resource.RLIMIT_AS, address_space, address_space),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
    )
    for what, soft, hard in limits:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (soft, hard))
