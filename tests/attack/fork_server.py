"""Forks commands from a process that has imported what they need: hundreds of interpreters would take minutes to start.

    server                the packages imported, one thread, nothing opened
      └─ supervisor       one for each command: tells its pid, waits for it, tells how it ended
           └─ command     runs a module as `python -m` would, with its own arguments, environment and limits
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

PRELOADED = (
    "numpy", "llama_cpp", "httpx", "filelock", "tqdm.auto", "rich.console", "jinja2.sandbox", "lxml.etree", "lxml.html",
    "docx", "openpyxl", "pptx", "pypdfium2", "uvicorn", "wim_edge.runtime", "wim_edge.cli.main",
    "wim_edge.engine.model", "wim_edge.engine.load_check", "wim_edge.engine.tune", "wim_edge.recall.recaller",
    "wim_edge.server.app",
)  # fmt: skip
"""Not huggingface_hub, which reads its variables when it is imported."""


class ForkServer:
    """A handle on the server. Closing it ends the server, not what it has started."""

    def __init__(self, environment: Mapping[str, str] | None = None, modules: Sequence[str] = PRELOADED) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.attack.fork_server", str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {}), "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip

    def start(self, module: str, arguments: Sequence[str], environment: Mapping[str, str], out: int,
              limits: Mapping[int, int], err: int | None = None) -> Started:  # fmt: skip
        """Run a module, with ``out`` as both of its outputs, or one of them. ``limits`` by their numbers in `resource`.
        """
        job = {"module": module, "arguments": [*arguments], "environment": {**environment}, "limits": [*limits.items()]}
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._line, [json.dumps(job).encode()], [theirs.fileno(), out, out if err is None else err])
        return Started(mine)

    def close(self) -> None:
        self._line.close()
        self._process.wait()


class Started:
    """A command that the server has started."""

    def __init__(self, line: socket.socket) -> None:
        self._lines = line.makefile("r")
        self._line = line
        self.pid = int(self._lines.readline())

    def wait(self, seconds: float) -> tuple[int, int] | None:
        """Its exit code, negative for a signal, and its peak memory as `resource` counts it; None where it takes
        longer."""
        self._line.settimeout(seconds)
        try:
            code, memory = json.loads(self._lines.readline())
        except TimeoutError:
            return None
        finally:
            self._line.settimeout(None)
        self._lines.close()
        self._line.close()
        return code, memory

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def serve(line: socket.socket) -> dict[str, Any]:
    """Answer until nobody asks any more. Returns in each command's process alone: what it is to run."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are not waited for
    while True:
        message, fds, _, _ = socket.recv_fds(line, 1 << 20, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line.close()
    report, *outputs = fds
    if pid := os.fork():
        for fd in outputs:
            os.close(fd)
        _supervise(pid, report)
    os.close(report)
    for fd, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, fd)
        os.close(output)
    return dict(json.loads(message))


def _supervise(pid: int, report: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(report, b"%d\n" % pid)
    _, status, usage = os.wait4(pid, 0)
    os.write(report, b"[%d, %d]\n" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
    os._exit(0)


def main() -> None:
    import resource

    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # so that a collection in a fork touches no page of what it shares
    job = serve(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(job["environment"])
    for what, limit in job["limits"]:
        resource.setrlimit(what, (limit, limit))
    if patience := os.environ.get("ATTACK_PATIENCE"):  # seconds for a lock that is never given
        importlib.import_module("wim_edge.library.database")._WAIT = float(patience)
    sys.argv[1:] = job["arguments"]
    runpy.run_module(job["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
