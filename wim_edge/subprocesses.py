"""Processes of our own: this Python, this package, and nothing of the working directory."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """What starts a module of ours. -P: the modules of the working directory are none."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """With it: packages are found as they are here, and where llama.cpp ends the process it says so in a line."""
    found = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": found, "GGML_NO_BACKTRACE": "1"}
