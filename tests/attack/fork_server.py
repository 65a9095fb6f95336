"""Forks commands from a process that has imported what they need: hundreds of interpreters would take minutes to start.

    server                has imported the packages; one thread, no open file
      └─ supervisor       one for each command: reports its pid, waits for it, reports its exit code and memory
           └─ command     runs a module as `python -m` does, with its own arguments, environment and limits
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
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = (
    "numpy", "llama_cpp", "httpx", "filelock", "tqdm.auto", "rich.console", "jinja2.sandbox", "lxml.etree", "lxml.html",
    "docx", "openpyxl", "pypdfium2", "uvicorn", "wim_edge.runtime", "wim_edge.cli.main",
    "wim_edge.engine.model", "wim_edge.engine.load_check", "wim_edge.tuned", "wim_edge.recall.recaller",
    "wim_edge.server.app",
)  # fmt: skip
"""Not huggingface_hub, which reads its variables when it is imported."""
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class ForkServer:
    """A handle on the server, which has imported ``modules``. Closing it ends the server, not its commands."""

    def __init__(self, modules: Sequence[str] = PRELOADED, environment: Mapping[str, str] | None = None) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.attack.fork_server", str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {}), "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip

    def run(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], seconds: float, out: int,
        err: int, *, most_bytes: int | None = None, group: Path | None = None,
    ) -> tuple[int | None, int]:  # fmt: skip
        """Runs a module with these outputs. Returns its exit code (negative for a signal, None if it was killed after
        ``seconds``) and its peak memory in bytes.

        ``most_bytes``: the limit of its address space. ``group``: the folder of a control group to run in.
        """
        job = {"module": module, "arguments": [*arguments], "environment": {**environment}, "most_bytes": most_bytes,
               "group": group and str(group)}  # fmt: skip
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with mine:
            with theirs:
                socket.send_fds(self._line, [json.dumps(job).encode()], [theirs.fileno(), out, err])
            pid = int(mine.recv(64))
            mine.settimeout(seconds)
            try:
                code, memory = json.loads(mine.recv(64))
            except TimeoutError:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, signal.SIGKILL)
                mine.settimeout(None)
                code, memory = None, json.loads(mine.recv(64))[1]
        return code, memory * _RSS_UNIT

    def close(self) -> None:
        self._line.close()
        self._process.wait()


def serve(line: socket.socket) -> dict[str, Any]:
    """Forks a command for each message until the line is closed. Returns the message, in the command's process only."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the supervisors
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
        _supervise(pid, report, outputs)
    os.close(report)
    for fd, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, fd)
        os.close(output)
    return dict(json.loads(message))


def _supervise(pid: int, report: int, outputs: Sequence[int]) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in outputs:
        os.close(fd)
    os.write(report, b"%d" % pid)
    _, status, usage = os.wait4(pid, 0)
    os.write(report, b"[%d, %d]" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
    os._exit(0)


def main() -> None:
    import resource

    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # a collection in a fork would copy the shared pages
    job = serve(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(job["environment"])
    if job["group"]:
        Path(job["group"], "cgroup.procs").write_text(str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job["most_bytes"]:
        resource.setrlimit(resource.RLIMIT_AS, (job["most_bytes"],) * 2)
    if patience := os.environ.get("ATTACK_PATIENCE"):  # seconds to wait for a lock of the database
        importlib.import_module("wim_edge.library.database")._WAIT = float(patience)
    sys.argv[1:] = job["arguments"]
    runpy.run_module(job["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
