"""Processes of our own: this Python, this package, and nothing of the working directory.

In a program that was frozen (PyInstaller and the like) there is no Python: it starts itself, and runs the module in its
place if it calls `run_if_asked` first of all, as the hook for PyInstaller has it do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

_MODULE = "--wim-edge-module"
_runs_modules = False


def has_python() -> bool:
    """Tells whether a process of our own can be started: not in a frozen program that does not run modules."""
    return _runs_modules or not getattr(sys, "frozen", False)


def run_if_asked() -> None:
    """Runs a module of ours and ends this process, if a frozen program has started itself for that."""
    global _runs_modules
    _runs_modules = True
    if sys.argv[1:2] == [_MODULE]:
        import runpy

        module, sys.argv[1:] = sys.argv[2], sys.argv[3:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        sys.exit()


def command(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module of ours; -P keeps out modules of the working directory. Raises
    RuntimeError in a frozen program that does not run them."""
    if not getattr(sys, "frozen", False):
        return [sys.executable, "-P", "-m", module, *arguments]
    if not _runs_modules:
        raise RuntimeError("call wim_edge.system.subprocesses.run_if_asked() first of all in a frozen program")
    return [sys.executable, _MODULE, module, *arguments]


def pip() -> list[str]:
    """Returns pip's command: this environment's, or the one that uv runs, whose environments have none."""
    if find_spec("pip") is None and (uv := shutil.which("uv")):
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    return [sys.executable, "-m", "pip"]


def environment() -> dict[str, str]:
    """Returns an environment with the packages found here, where llama.cpp says in one line that it ends a process."""
    found = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": found, "GGML_NO_BACKTRACE": "1"}


def limit(address_space: int, seconds: int) -> None:
    """Limits this process if the system can: its memory in bytes, and its processor time, all threads together."""
    if sys.platform != "win32":
        import resource

        seconds *= os.cpu_count() or 1
        limits = (
            (resource.RLIMIT_AS, address_space, address_space),
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, seconds, seconds + 1),
        )
        for what, soft, hard in limits:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(what, (soft, hard))


def own_group() -> dict[str, Any]:
    """Returns arguments of Popen for a process that Ctrl-C does not reach, because its parent tells it what to do."""
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    else:
        group = {"process_group": 0}
    return group
