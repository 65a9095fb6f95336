"""Runs the command line, or another module, on something hostile, and says how that ended."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.attack.fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[2]
WORKS = (0, 11)
"""With an answer, or with the word that the documents do not seem to say."""
ERRORS = range(2, 9)
"""Exit codes that name an error of ours (`wim_edge.errors`)."""
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Outcome:
    """``how``: works, refused (a clear error), killed (as was wanted), CRASH or HANG."""

    what: str
    how: str
    seconds: float
    bytes: int
    """Peak memory of the process and of those it started."""
    said: str


def command(
    what: str, arguments: Sequence[str], home: Path, *, seconds: float, most_bytes: int | None = None,
    module: str = "wim_edge", environment: Mapping[str, str] | None = None, kill_after: float | None = None,
    group: Path | None = None, server: ForkServer | None = None,
) -> Outcome:  # fmt: skip
    """``most_bytes``: of address space, where the system can limit that. ``kill_after``: seconds to SIGKILL.
    ``group``: the folder of a control group to run in. ``server``: what to fork from, in place of a new interpreter.
    """
    limits = {resource.RLIMIT_CORE: 0} | ({} if most_bytes is None else {resource.RLIMIT_AS: most_bytes})
    environment = {**os.environ, "WIM_EDGE_HOME": str(home), "PYTHONPATH": str(ROOT), **(environment or {})}
    begun, patience = time.monotonic(), seconds if kill_after is None else kill_after
    with tempfile.TemporaryFile("w+b") as out:
        if server is None:
            status, usage = _interpreted([module, *arguments], environment, out, limits, group, patience)
        else:
            status, usage = _forked(server, module, arguments, environment, out, limits, patience)
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    if status == -signal.SIGKILL or (status is None and kill_after is not None):
        return Outcome(what, "killed", time.monotonic() - begun, usage, "")
    how = "HANG" if status is None else "works" if status in WORKS else "refused" if status in ERRORS else "CRASH"
    if how == "refused" and ("Traceback" in said or "error:" not in said):
        how = "CRASH"
    return Outcome(what, how, time.monotonic() - begun, usage, " ".join(said.split())[-300:])


def _interpreted(
    module_and_arguments: Sequence[str], environment: Mapping[str, str], out: IO[bytes], limits: Mapping[int, int],
    group: Path | None, seconds: float,
) -> tuple[int | None, int]:  # fmt: skip
    """Exit code, None where it had to be killed; peak memory in bytes."""

    def limit() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        for what, most in limits.items():
            resource.setrlimit(what, (most, most))

    process = subprocess.Popen([sys.executable, "-m", *module_and_arguments], stdin=subprocess.DEVNULL, stdout=out,
                               stderr=out, env=environment, preexec_fn=limit)  # fmt: skip
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss * _RSS_UNIT
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)  # Popen.kill would take the status of one that has just ended
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = -9
    return None, usage.ru_maxrss * _RSS_UNIT


def _forked(
    server: ForkServer, module: str, arguments: Sequence[str], environment: Mapping[str, str], out: IO[bytes],
    limits: Mapping[int, int], seconds: float,
) -> tuple[int | None, int]:  # fmt: skip
    """The same."""
    started = server.start(module, arguments, environment, out.fileno(), limits)
    ended = started.wait(seconds)
    if ended is None:
        started.kill()
        _, memory = started.wait(60) or (-9, 0)
        return None, memory * _RSS_UNIT
    return ended[0], ended[1] * _RSS_UNIT
