"""What `scripts/check_rpc.sh` checks, in an environment whose llama-cpp-python has RPC. Ends with 1 where one fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

MODEL = ["--no-flash-attn", "--threads", "1", "--answer-tokens", "24", "--model"]
"""Attention as a CPU has it by default: over RPC llama.cpp takes flash attention, whose logits differ a little."""
TEXT = Path(__file__).parent.parent / "examples" / "gpl-3.0.txt"
QUESTION = "What is the GPL for?"
PATTERNS = ("llm", "wim", "wim-shallow")
failed: list[str] = []


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="wim-edge-rpc-") as folder, ExitStack() as stack:
        work = Path(folder)
        (work / "part.txt").write_text(TEXT.read_text(encoding="utf-8")[:6000], encoding="utf-8")
        wim_edge(work / "home", "models", "pull", "smollm2-135m")
        MODEL.append(wim_edge(work / "home", "models", "path", "smollm2-135m").stdout.strip())
        ports = [free_port() for _ in range(2)]
        servers = [stack.enter_context(Server(work, port)) for port in ports]
        rpc = ("--rpc", ",".join(f"127.0.0.1:{port}" for port in ports))
        devices(work, rpc)
        before = [server.seconds() for server in servers]
        for pattern in PATTERNS:
            answers(work, rpc, pattern)
        worked = [server.seconds() - then for server, then in zip(servers, before, strict=True)]
        check(f"it was they who computed: {', '.join(f'{one:.1f} s' for one in worked)}", min(worked) > 5)
        batch(work, rpc)
        lost(work, rpc, servers)
        wrong(work, servers)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all as it should be")
    sys.exit(bool(failed))


def devices(work: Path, rpc: tuple[str, ...]) -> None:
    found = json.loads(wim_edge(work / "home", "doctor", "--json", "--model", MODEL[-1], *rpc).stdout)
    check(f"doctor lists {found['remote']}", [one["total"] > 0 for one in found["remote"]] == [True, True])
    check(f"doctor: {found['use']['gpu_layers']} layers there, prefill {found['speed']['prefill']:.0f} tokens/s",
          found["use"]["gpu_layers"] == -1)  # fmt: skip


def answers(work: Path, rpc: tuple[str, ...], pattern: str) -> None:
    """Fresh and known, here and there."""
    here, known = (ask(work / f"here-{pattern}", pattern) for _ in range(2))
    there = ask(work / f"there-{pattern}", pattern, *rpc)
    again = ask(work / f"there-{pattern}", pattern, *rpc)
    check(f"{pattern}: the tokens of one machine's", there == here)
    check(f"{pattern}: restored across them, {again['known']} of {there['read']} tokens known, as on one machine",
          again == known and again["said"] == here["said"] and again["known"] > 0)  # fmt: skip


def batch(work: Path, rpc: tuple[str, ...]) -> None:
    """A row that is wrong by itself stops no other, though the servers are busy with the model that goes on."""
    (work / "long.txt").write_text(2 * TEXT.read_text(encoding="utf-8"), encoding="utf-8")
    rows = [{"document": f"{name}.txt", "question": QUESTION} for name in ("long", "part")]
    (work / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for home, more in (("here-llm", ()), ("there-llm", rpc)):
        wim_edge(work / home, "batch", str(work / "questions.jsonl"), "--out", str(work / f"batch-{home}"),
                 "--pattern", "llm", *MODEL, *more, code=1)  # fmt: skip
    here, there = (
        [json.loads(line) for line in (work / f"batch-{home}" / "results.jsonl").read_text("utf-8").splitlines()]
        for home in ("here-llm", "there-llm")
    )
    said = [[(row["answer"], row["error"]) for row in found] for found in (here, there)]
    check(f"batch: {there[0]['error']}; the other row as of one machine",
          said[0] == said[1] and [row["error"] is None for row in there] == [False, True])  # fmt: skip


def lost(work: Path, rpc: tuple[str, ...], servers: list[Server]) -> None:
    """One is killed in the middle of a reading: an error that says so, and what was saved is kept."""
    home = work / "home-lost"
    command = [sys.executable, "-m", "wim_edge", "ask", str(TEXT), QUESTION, "--pattern", "llm", "--json", *MODEL, *rpc]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=env(home))
    assert process.stdout is not None
    began = time.monotonic()
    for line in process.stdout:
        if json.loads(line)["type"] == "reading.progress" and time.monotonic() - began > 25:
            servers[1].process.kill()
            break
    _, said = process.communicate(timeout=60)
    check("lost in the middle: exit code 6", process.returncode == 6)
    told = [line for line in said.splitlines() if line.startswith(("error:", "hint:"))]
    check(f"lost in the middle: {' '.join(told)}", len(told) == 2 and "may be lost" in told[0])
    alone = wim_edge(home, "ask", str(TEXT), QUESTION, *MODEL, *rpc, code=6)
    check(f"still lost: {' '.join(alone.stderr.split())}", "no RPC server at" in alone.stderr)
    servers[1].start()
    found = ask(home, "llm", *rpc, text=TEXT)
    check(f"back again: {found['known']} tokens were kept, {found['read']} read", found["known"] > 0)


def wrong(work: Path, servers: list[Server]) -> None:
    """Who is no RPC server, and one that serves another client."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        said = wim_edge(work / "home", "ask", str(TEXT), QUESTION, *MODEL, "--rpc", f"127.0.0.1:{port}", code=6).stderr
        check(f"one that is silent: {' '.join(said.split())}", "does not answer" in said)
    with socket.create_connection(("127.0.0.1", servers[0].port)):
        rpc = f"127.0.0.1:{servers[0].port}"
        said = wim_edge(work / "home", "ask", str(TEXT), QUESTION, *MODEL, "--rpc", rpc, code=6).stderr
        check("one that is busy", "one client at a time" in said)
    said = wim_edge(work / "home", "rpc-serve", "--host", "0.0.0.0", code=2).stderr
    check(f"an open address: {' '.join(said.split())}", "no protection" in said)
    said = wim_edge(work / "home", "rpc-serve", "--port", str(servers[0].port), code=6).stderr
    check("a port that is taken", "stopped" in said)


class Server:
    """`wim-edge rpc-serve` on a port of this machine."""

    def __init__(self, work: Path, port: int) -> None:
        self.work, self.port = work, port
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "wim_edge", "rpc-serve", "--port", str(self.port), "--threads", "1"]
        self.process = subprocess.Popen(command, env=env(self.work / "home"), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)  # fmt: skip
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.1)
        raise SystemExit("the server did not start")

    def seconds(self) -> float:
        """Of processor time."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            failed.append("Ctrl-C ends the server")
            self.process.kill()


def ask(home: Path, pattern: str, *more: str, text: Path | None = None) -> dict[str, Any]:
    part = text or home.parent / "part.txt"
    out = wim_edge(home, "ask", str(part), QUESTION, "--pattern", pattern, "--json", *MODEL, *more).stdout
    events = [json.loads(line) for line in out.splitlines()]
    last = events[-1]
    sources = [(one["segment"], one["margin"]) for one in last["sources"]]
    usage = last["usage"]
    return {"said": (last["text"], sources), "read": usage["prefilled_tokens"], "known": usage["reused_tokens"]}


def wim_edge(home: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wim_edge", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env(home), timeout=600, check=False)
    if done.returncode != code:
        failed.append(f"{' '.join(arguments)} ended with {done.returncode}, not {code}: {done.stderr[-500:]}")
        print(failed[-1], flush=True)
    return done


def env(home: Path) -> dict[str, str]:
    return {**os.environ, "WIM_EDGE_HOME": str(home)}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def check(what: str, good: bool) -> None:
    print(f"{'ok    ' if good else 'FAILED'} {what}", flush=True)
    if not good:
        failed.append(what)


if __name__ == "__main__":
    main()
