"""A scripted engine that takes its time, and what it reads: without the server's packages, which take longer to import
than a worker takes for its work."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.grammar import GrammarModel
from wim_edge import Runtime, Settings
from wim_edge.server import job_queue
from wim_edge.server.worker_protocol import serve

TEXT = "".join(f"Sentence number {i} speaks of the colour blue and of many things. " for i in range(40))
SMALL = Settings(pattern="wim", relevance="verdict", margins="free", max_passages=32, segment_tokens=160,
                 margin_tokens=24, answer_tokens=32)  # fmt: skip


def reply(prompt: str) -> str:
    if "YES or NO" in prompt:
        return "YES"
    if "write down" in prompt:
        return "seen: blue"
    return f"an answer with {prompt.rpartition('many things.')[2].count('seen: blue')} notes"


class Slow(GrammarModel):
    """Takes its time for each batch, until it is told not to."""

    def __init__(self) -> None:
        super().__init__(reply)
        self.seconds = 0.0

    def context(self, n_ctx: int, *, n_sequences: int = 8) -> Any:
        made = super().context(n_ctx, n_sequences=n_sequences)
        made.on_append = lambda _: time.sleep(self.seconds)
        return made


def until(happened: Callable[[], object]) -> None:
    """Waits until something has happened, a minute at most."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def answers_to(lines: Iterable[str], *, finished: int = 0, model: Slow | None = None, out: io.StringIO | None = None
               ) -> list[dict[str, Any]]:  # fmt: skip
    """Returns the worker's answers to these lines; its input stays open until so many requests are finished."""
    out = out or io.StringIO()

    def held() -> Iterator[str]:
        yield from lines
        until(lambda: out.getvalue().count('.finished"') >= finished)

    with patch.object(job_queue, "Runtime", lambda settings: Runtime(settings, model=model or Slow())):
        serve(held(), out, SMALL)
    return [json.loads(line) for line in out.getvalue().splitlines()]


_WORKER = """
import os, sys
sys.path.insert(0, {root!r})
from tests.server.slow import SMALL, Slow
from wim_edge import Runtime
from wim_edge.server import job_queue
from wim_edge.server.worker_protocol import serve
model = Slow()
job_queue.Runtime = lambda settings: Runtime(settings, model=model)
model.seconds = float(os.environ.get("SLOW", "0"))
print("a line that some library prints", file=sys.stderr)
serve(iter(sys.stdin.readline, ""), sys.stdout, SMALL)
"""
COMMAND = [sys.executable, "-c", _WORKER.format(root=str(Path(__file__).parents[2]))]
"""Starts a worker with it; as slow as the variable SLOW says."""
