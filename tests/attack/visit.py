"""Starts the server, uses it as a page would, and ends it: ``python -m tests.attack.visit``.

Whatever the disk does, each request gets a response, 503 at worst, and the server continues. ``VISIT_KILLS_AFTER``:
seconds to SIGKILL. ``VISIT_KEEPS``: keeps the document and the question.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from multiprocessing import get_context
from typing import Any

import httpx


def visit(client: httpx.Client, name: str, *, keeps: bool) -> None:
    """Sends the requests of a page with a document."""
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
    """Returns the response's JSON, or None for an error that the server reports well."""
    answer = client.request(method, path, **more)
    if answer.status_code < 400:
        return answer.json() if answer.content else {}
    said = answer.json()["error"]
    assert answer.status_code in (404, 409, 503, 507), (method, path, answer.status_code, said)
    return None


def serve(stderr: int) -> None:
    from wim_edge.__main__ import main

    os.dup2(stderr, 2)
    os.close(stderr)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)  # the one before buffers for a file
    sys.argv[1:] = ["serve", "--port", "0", "--model", "tiny", "--judge", "self"]
    main()


def main() -> int:
    kills_after = float(os.environ.get("VISIT_KILLS_AFTER", 0))
    keeps = "VISIT_KEEPS" in os.environ
    end, theirs = os.pipe()
    server = get_context("fork").Process(target=serve, args=(theirs,))  # its packages are imported already
    server.start()
    os.close(theirs)
    stderr = os.fdopen(end)
    if kills_after:
        threading.Timer(kills_after, server.kill).start()
    try:
        line = stderr.readline()
        if found := re.search(r"http://\S+?(?=/)", line):
            drain = threading.Thread(target=stderr.read, daemon=True)
            drain.start()
            transport = httpx.HTTPTransport(retries=4)
            with httpx.Client(base_url=found[0] + "/api", timeout=30, transport=transport) as client:
                visit(client, "kept" if keeps else "new", keeps=keeps)
                assert call(client, "GET", "/status") is not None
            os.kill(server.pid, signal.SIGINT)
        else:
            sys.stderr.write(line + stderr.read())
        server.join(20)
    except httpx.TransportError:
        server.join(20)
        if server.exitcode != -signal.SIGKILL:
            raise
    finally:
        status = server.exitcode
        server.kill()
    if status == -signal.SIGKILL and (kills_after or os.environ.get("ATTACK_HOW") == "kill"):
        return 0
    return 1 if status is None or status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
