"""Processes of our own: this Python, this package, and nothing of the working directory."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module of ours; -P keeps out modules of the working directory."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Returns an environment with the packages found here, where llama.cpp says in one line that it ends a process."""
    found = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": found, "GGML_NO_BACKTRACE": "1"}
