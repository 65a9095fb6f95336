"""The runtime in a process of its own: a crash there does not end the host application.

>>> from wim_edge.worker import Worker
>>> with Worker(model="smollm2-135m") as worker:                       # doctest: +SKIP
...     for event in worker.stream(["contract.pdf"], "Who may end the contract?"):
...         print(event)

If the process crashes or is killed, the current request raises EngineError, and the next request starts a new process.
The child's side, and the messages between the processes, are in `wim_edge.server.worker_protocol`.
"""

from __future__ import annotations

import itertools
import json
import logging
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import asdict
from typing import Any

from wim_edge import errors
from wim_edge.documents import Document, read_document
from wim_edge.documents.readers import Documents, listed
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.reading import events
from wim_edge.reading.control import Decision, Policy
from wim_edge.settings import plain
from wim_edge.system import subprocesses

_SECONDS = 10.0  # the time in which a closed worker must end by itself
_PATIENCE = 5.0  # seconds after which a second call of `cancel` kills the process
_Events = Generator[events.Event, None, None]


class Worker(AbstractContextManager["Worker"]):
    """A runtime in a child process; a context manager. ``settings`` are fields of `wim_edge.Settings`.

    A worker answers one request at a time; `answer_now`, `cancel` and `judge` may be called from any thread.
    ``command``: the command that starts the child; None: ``wim-edge worker``.
    """

    def __init__(self, *, command: Sequence[str] | None = None, **settings: Any) -> None:
        logs = logging.getLogger("wim_edge.llama").isEnabledFor(logging.DEBUG)  # llama.cpp's messages
        self._command = list(command or subprocesses.command("wim_edge", "worker", *["--debug"] * logs))
        self._settings = plain(settings)
        self._process: subprocess.Popen[str] | None = None
        self._numbers = itertools.count(1)
        self._number: int | None = None
        self._writing = threading.Lock()
        self._cancelled: float | None = None
        """The time of the first call of `cancel` in this request (`time.monotonic`); None: not called."""

    def stream(
        self, documents: Documents, question: str, *, library: str | None = None, on_margin: Policy | None = None,
        verdicts: Mapping[int, bool] | None = None, read_on: bool = False, settings: Mapping[str, Any] | None = None,
    ) -> _Events:  # fmt: skip
        """Yields the events of `Runtime.stream`. Closing the iterator cancels the request. ``settings``: settings to
        change for this question only. Raises the runtime's errors, and EngineError if the process ended."""
        found = self._events(
            do="ask", documents=_all_shown(documents), question=question, library=library,
            judged=dict(verdicts or {}), read_on=read_on, settings={**self._settings, **plain(settings or {})},
        )  # fmt: skip
        return found if on_margin is None else self._asking(on_margin, found)

    def read(self, documents: Documents) -> _Events:
        """Reads documents ahead of questions, and yields the events of `Runtime.read`."""
        return self._events(do="read", documents=_all_shown(documents), settings=self._settings)

    def ask(self, documents: Documents, question: str, **more: Any) -> events.AnswerFinished:
        """Answers a question, and returns the answer, the last event of `stream`."""
        *_, last = self.stream(documents, question, **more)
        assert isinstance(last, events.AnswerFinished)
        return last

    @property
    def running(self) -> bool:
        """True while the process runs. After a crash the next request starts a new process."""
        return self._process is not None and self._process.poll() is None

    def answer_now(self) -> None:
        """Stops reading, and answers from what has been read."""
        self._control(do="answer_now")

    def cancel(self) -> None:
        """Stops reading or answering. A further call, more than five seconds later, kills the process: with RPC, the
        process may wait forever for a lost machine."""
        now = time.monotonic()
        if self._cancelled is None:
            self._cancelled = now
        elif now - self._cancelled > _PATIENCE and self._process is not None:
            self._process.kill()
        self._control(do="cancel")

    def judge(self, segment: int, accepted: bool) -> None:
        """Sets the user's verdict on a segment during the reading, as `Runtime.judge` does."""
        self._control(do="judge", segment=segment, accepted=accepted)

    def close(self) -> None:
        """Cancels the current request, and ends the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()  # the process ends at the end of its input
            process.wait(_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        process.stdout.close()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _asking(self, policy: Policy, found: _Events) -> _Events:
        """Yields the events, and calls the policy after each margin. The child reads on while the policy decides."""
        with closing(found):
            for event in found:
                yield event
                wish = policy(event) if isinstance(event, events.MarginJudged) else None
                if wish is Decision.ANSWER:
                    self.answer_now()
                elif wish is Decision.CANCEL:
                    self.cancel()

    def _events(self, **request: Any) -> _Events:
        if self._number is not None:
            raise InvalidRequestError("this worker is answering another question", "Finish or close its stream.")
        number = self._number = next(self._numbers)
        over, self._cancelled = False, None
        try:
            child = self._started()
            self._send({"id": number, **request})
            assert child.stdout is not None
            for line in child.stdout:
                if not line.endswith("\n"):
                    break  # the process was killed while writing
                told = json.loads(line)
                if told.pop("id") != number or told["type"] == "queued":
                    continue  # an event of an abandoned request
                over = told["type"] in ("answer.finished", "reading.finished", "error")
                if told["type"] == "error":
                    raise errors.from_dict(told)
                yield events.from_dict(told)
                if over:
                    return
            over = True
            lost = self._settings.get("rpc")
            code = child.wait()
            self.close()
            how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
            raise EngineError(
                f"the worker process ended ({how}){f': {lost} may be lost' if lost else ''}",
                "The saved part of the reading is kept. Ask again to continue there.",
            )
        finally:
            if not over:
                self._control(do="cancel")
            self._number = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or not self.running:
            self.close()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
                env=subprocesses.environment(), **subprocesses.own_group(),
            )  # fmt: skip
        return self._process

    def _send(self, request: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        with self._writing, suppress(OSError, ValueError):  # the process has ended; the next read shows that
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()

    def _control(self, **request: Any) -> None:
        if self._number is not None:
            self._send({"id": self._number, **request})


def _all_shown(documents: Documents) -> list[Any]:
    """Returns documents as plain data for JSON: a `Document` and standard input as a dict, others as their path."""
    found = (read_document("-") if one == "-" else one for one in listed(documents))  # the worker's stdin: requests
    return [asdict(one) | {"path": one.path and str(one.path)} if isinstance(one, Document) else str(one)
            for one in found]  # fmt: skip
