"""Runs the command line, or another module, on hostile input, and reports how that ended."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.attack.fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[2]
WORKS = (0, 11)
"""The exit codes of an answer, and of "not in the documents"."""
ERRORS = range(2, 9)
"""The exit codes of our errors (`wim_edge.errors`)."""


@dataclass(frozen=True)
class Outcome:
    """``how``: works, refused (a clear error), killed (by the attack), CRASH or HANG."""

    what: str
    how: str
    seconds: float
    bytes: int
    """Peak memory of the process and of those it started."""
    said: str


def command(
    server: ForkServer, what: str, arguments: Sequence[str], home: Path, *, seconds: float, module: str = "wim_edge",
    environment: Mapping[str, str] | None = None, kill_after: float | None = None, most_bytes: int | None = None,
    group: Path | None = None,
) -> Outcome:  # fmt: skip
    """Runs a module on the server. ``kill_after``: seconds to SIGKILL. ``most_bytes``, ``group``: as in
    `ForkServer.run`."""
    # One thread for llama.cpp: several would wait for minutes at its barriers on a busy machine
    own = {"OMP_NUM_THREADS": "1", "WIM_EDGE_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **own, **(environment or {})}
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+b") as out:
        code, memory = server.run(
            module, arguments, environment, seconds if kill_after is None else kill_after, out.fileno(), out.fileno(),
            most_bytes=most_bytes, group=group,
        )  # fmt: skip
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    if code == -signal.SIGKILL or (code is None and kill_after is not None):
        return Outcome(what, "killed", time.monotonic() - begun, memory, "")
    how = "HANG" if code is None else "works" if code in WORKS else "refused" if code in ERRORS else "CRASH"
    if how == "refused" and ("Traceback" in said or "error:" not in said):
        how = "CRASH"
    return Outcome(what, how, time.monotonic() - begun, memory, " ".join(said.split())[-300:])
