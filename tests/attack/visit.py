"""Starts the server, uses it as a page would, and ends it: ``python -m tests.attack.visit``.

Whatever the disk does, each request is answered, by 503 at worst, and the server goes on. ``VISIT_KILLS_AFTER``:
seconds after which the server is killed. ``VISIT_KEEPS``: what is given and asked stays.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
import threading
from typing import Any

import httpx


def visit(client: httpx.Client, name: str, *, keeps: bool) -> None:
    """What a page does with a document."""
    given = call(client, "POST", "/documents", files={"file": (f"{name}.txt", "The ferry sails at noon. " * 20)})
    if given is None:
        return
    question = {"documents": [given["id"]], "question": f"{name}?", "options": {"answer_tokens": 4}}
    asked = call(client, "POST", "/questions", json=question)
    if asked is not None:
        with client.stream("GET", f"/questions/{asked['id']}/events") as events:
            events.read()
        call(client, "PUT", f"/questions/{asked['id']}/margins/0", json={"accepted": True})
        call(client, "GET", "/questions")
    call(client, "GET", "/documents")
    call(client, "GET", "/readings")
    if not keeps:
        call(client, "DELETE", f"/documents/{given['id']}")


def call(client: httpx.Client, method: str, path: str, **more: Any) -> Any:
    """What is answered; None where the server says what is wrong."""
    answer = client.request(method, path, **more)
    if answer.status_code < 400:
        return answer.json() if answer.content else {}
    said = answer.json()["error"]
    assert answer.status_code in (404, 409, 503, 507), (method, path, answer.status_code, said)
    return None


class Server:
    """`wim-edge serve`, forked from here, where its packages are imported already."""

    def __init__(self) -> None:
        end, theirs = os.pipe()
        self._process = multiprocessing.get_context("fork").Process(target=self._serve, args=(theirs,))
        self._process.start()
        os.close(theirs)
        self.stderr = os.fdopen(end)

    @staticmethod
    def _serve(stderr: int) -> None:
        from wim_edge.__main__ import main

        os.dup2(stderr, 2)
        os.close(stderr)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)  # the one before is of a file
        sys.argv[1:] = ["serve", "--port", "0", "--model", "tiny"]
        main()

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float | None = None) -> int:
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise TimeoutError(f"the server is not done after {seconds} seconds")
        return self._process.exitcode


def main() -> int:
    kills_after = float(os.environ.get("VISIT_KILLS_AFTER", 0))
    keeps = "VISIT_KEEPS" in os.environ
    server = Server()
    if kills_after:
        threading.Timer(kills_after, server.kill).start()
    try:
        line = server.stderr.readline()
        found = re.search(r"http://\S+?(?=/)", line)
        if found is None:
            sys.stderr.write(line + server.stderr.read())
            return ended(server.wait(20), kills_after)
        drain = threading.Thread(target=server.stderr.read, daemon=True)
        drain.start()
        transport = httpx.HTTPTransport(retries=4)
        with httpx.Client(base_url=found[0] + "/api", timeout=30, transport=transport) as client:
            visit(client, "kept" if keeps else "new", keeps=keeps)
            assert call(client, "GET", "/status") is not None
        server.send_signal(signal.SIGINT)
        status = server.wait(20)
    except httpx.TransportError:
        status = server.wait(20)
        if status != -signal.SIGKILL:
            raise
    finally:
        server.kill()
        server.wait()
    drain.join(5)
    return ended(status, kills_after)


def ended(status: int, kills_after: float) -> int:
    """0 where the server ended well, or was killed as was wanted."""
    if status == -signal.SIGKILL and (kills_after or os.environ.get("ATTACK_HOW") == "kill"):
        return 0
    return max(0, status) if status >= 0 else 1


if __name__ == "__main__":
    sys.exit(main())
