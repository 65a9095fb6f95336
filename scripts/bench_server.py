"""How soon the server answers and stops: milliseconds to the first event, and from cancel to idle, beside one batch.

    python scripts/bench_server.py [--model NAME] [--times 5]

The server runs in this process's child, on the real model; the text is the GPL, never read before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

TEXT = Path(__file__).parents[1] / "examples" / "gpl-3.0.txt"


def ask(address: str, path: str, body: Any = None, method: str | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(address + path, data, headers, method=method or ("POST" if body else "GET"))
    return urllib.request.urlopen(request)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = subprocess.run([sys.executable, "-m", "wim_edge", "models", "path", given.model],
                               capture_output=True, text=True, check=True)  # fmt: skip
        command = [sys.executable, "-m", "wim_edge", "serve", str(TEXT.parent), "--port", "0", "--model",
                   found.stdout.strip()]  # fmt: skip
        environment = {**os.environ, "WIM_EDGE_HOME": home}
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            assert server.stderr is not None
            address = re.search(r"http://\S+?(?=/)", server.stderr.readline())[0] + "/api"  # type: ignore[index]
            measure(address, given.times)
        finally:
            server.terminate()


def measure(address: str, times: int) -> None:
    first, idle, batches = [], [], []
    for _ in range(50):
        try:
            ask(address, "/status")
            break
        except OSError:
            time.sleep(0.1)
    document = json.load(ask(address, "/documents/named", {"path": str(TEXT)}))["id"]
    for at in range(times):
        body = {"documents": [document], "question": f"What is it for, {at}?", "options": {"pattern": "wim"}}
        begun = time.perf_counter()
        response = ask(address, "/ask", body)
        response.readline()
        first.append(time.perf_counter() - begun)
        last = None
        for line in response:
            if line.startswith(b"event: reading.progress"):
                now = time.perf_counter()
                if last is not None:
                    batches.append(now - last)
                last = now
            if len(batches) >= 3 * (at + 1):
                break
        begun = time.perf_counter()
        response.close()  # who goes away cancels
        while json.load(ask(address, "/status"))["waiting"]:
            time.sleep(0.002)
        idle.append(time.perf_counter() - begun)
        for reading in json.load(ask(address, "/readings")):
            ask(address, f"/readings/{reading['id']}", method="DELETE")
    for what, seconds in (("first event", first), ("one batch", batches), ("cancel to idle", idle)):
        low, high = 1000 * min(seconds), 1000 * max(seconds)
        print(f"{what:<15} median {1000 * statistics.median(seconds):7.1f} ms   {low:.1f} to {high:.1f}")


if __name__ == "__main__":
    main()
