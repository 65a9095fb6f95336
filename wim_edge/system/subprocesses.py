"""Child processes that run a module with this Python and its packages, but import nothing from the working directory.

A frozen program (as PyInstaller makes) contains no Python interpreter, so it starts itself again as the child. The
child must first call `run_if_asked`, which runs the module instead; the hook for PyInstaller does so.
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
    """Returns whether a child process can run a module: not in a frozen program that did not call `run_if_asked`."""
    return _runs_modules or not getattr(sys, "frozen", False)


def run_if_asked() -> None:
    """Runs a module and exits, if a frozen program started this process for that module; otherwise returns."""
    global _runs_modules
    _runs_modules = True
    if sys.argv[1:2] == [_MODULE]:
        import runpy

        module, sys.argv[1:] = sys.argv[2], sys.argv[3:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        sys.exit()


def command(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module. -P hides the working folder. Raises RuntimeError unless `has_python`."""
    if not getattr(sys, "frozen", False):
        return [sys.executable, "-P", "-m", module, *arguments]
    if not _runs_modules:
        raise RuntimeError("a frozen program must first call wim_edge.system.subprocesses.run_if_asked()")
    return [sys.executable, _MODULE, module, *arguments]


def pip() -> list[str]:
    """Returns the command that runs this environment's pip, or uv's pip if the environment (made by uv) has none."""
    if find_spec("pip") is None and (uv := shutil.which("uv")):
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    return [sys.executable, "-m", "pip"]


def run_pip(command: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a pip command with extra environment variables; returns its exit status and output. Raises OSError."""
    whole = [*pip(), command, "--quiet", "--disable-pip-version-check", "--no-input", *arguments]
    return subprocess.run(
        whole, capture_output=True, encoding="locale", errors="replace", env=os.environ | variables, check=False
    )


def environment() -> dict[str, str]:
    """Returns this process's environment variables for a child, with its import path and no llama.cpp backtraces."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "GGML_NO_BACKTRACE": "1"}


def limit(address_space: int, seconds: int) -> None:
    """Limits this process, except on Windows: address space in bytes, processor seconds per core, and no core dumps."""
    if sys.platform != "win32":
        import resource

        seconds *= os.cpu_count() or 1
        limits = {resource.RLIMIT_AS: (address_space,) * 2, resource.RLIMIT_CORE: (0, 0),
                  resource.RLIMIT_CPU: (seconds, seconds + 1)}  # fmt: skip
        for what, bounds in limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(what, bounds)


def own_group() -> dict[str, Any]:
    """Returns Popen's arguments for a child in its own process group. Ctrl-C does not end it, so its parent must."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    else:  # noqa: RET505  # mypy takes code after it for unreachable on Windows
        return {"process_group": 0}
