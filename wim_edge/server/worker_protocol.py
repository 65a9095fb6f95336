"""The runtime for a parent process: one JSON object a line on standard input and output.

    {"id": 1, "do": "ask", "documents": ["a.pdf", {"name": "b", "text": "..."}], "question": "...", "settings": {}}
    {"id": 2, "do": "read", "documents": ["a.pdf"]}
    {"id": 3, "do": "complete", "prompt": "Once" or [["user", "Hello."]]}
    {"id": 1, "do": "answer_now"}
    {"id": 1, "do": "cancel"}
    {"id": 1, "do": "judge", "segment": 3, "accepted": false}

Answers are the events of docs/events.md with their request's ``id``; `queued` comes first, and `error` comes last if a
request fails. ``settings`` are fields of `wim_edge.Settings`. For ask, ``judged`` maps segments to verdicts, and
``"read_on": true`` continues to read for the last question (`Runtime.stream`). Requests are served in order. The
process ends with its standard input.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TextIO

from msgspec import Meta, Struct

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError, WimEdgeError
from wim_edge.reading.events import Event
from wim_edge.runtime import Runtime
from wim_edge.server.job_queue import Failed, Job, JobQueue
from wim_edge.settings import Settings, from_dict
from wim_edge.system.convert import convert

_WAITING = 1000
CONTROLS = ("answer_now", "cancel", "judge")


class _Request(Struct, kw_only=True):
    settings: dict[str, Any] = {}
    judged: dict[int, bool] = {}


class WorkerRead(_Request, kw_only=True):
    """Reads documents ahead."""

    documents: list[str | Document]

    def __post_init__(self) -> None:
        for one in self.documents:
            if one == "-" or (isinstance(one, str) and os.path.exists(one) and not os.path.isfile(one)):
                # A pipe could block for ever, and requests come on standard input
                raise InvalidRequestError(f"{one}: not a file", "Name a file, or send its text.")

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.read(self.documents)


class WorkerAsk(WorkerRead, kw_only=True):
    """Asks a question of documents, of a library, or of both."""

    question: str
    library: str | None = None
    read_on: bool = False

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.stream(
            self.documents, self.question, library=self.library, verdicts=self.judged, read_on=self.read_on
        )


class WorkerComplete(_Request, kw_only=True):
    """Continues a prompt, or answers messages of (role, text)."""

    prompt: str | list[tuple[str, str]]
    top_logprobs: Annotated[int, Meta(ge=0, le=20, description="0 to 20")] | None = None

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.complete(self.prompt, top_logprobs=self.top_logprobs)


class WorkerJudge(Struct):
    """Tells whether an answer should use a segment."""

    segment: int
    accepted: bool


REQUESTS: dict[object, type[WorkerRead | WorkerComplete]] = {
    "ask": WorkerAsk, "read": WorkerRead, "complete": WorkerComplete,
}  # fmt: skip


def serve(
    lines: Iterable[str], out: TextIO, settings: Settings, *, open_runtime: Callable[[Settings], Runtime] = Runtime
) -> None:
    """Serves requests until the lines end; then cancels the running and the waiting ones."""
    queue = JobQueue(settings, most=_WAITING, open_runtime=open_runtime)
    jobs: dict[Any, tuple[Job, dict[int, bool]]] = {}
    writing = threading.Lock()

    def write(number: Any, event: dict[str, Any]) -> None:
        with writing:
            try:
                out.write(json.dumps({"id": number, **event}) + "\n")
                out.flush()
            except (OSError, ValueError):  # nobody reads the answers
                os._exit(1)

    def begin(number: Any, request: WorkerRead | WorkerComplete) -> None:
        job = Job(request.run, settings.with_changes(**from_dict(request.settings)))
        job.on_event = lambda event: write(number, event)
        job.on_end = lambda _: jobs.pop(number, None)
        jobs[number] = job, request.judged
        queue.submit(job)

    try:
        for line in lines:
            number = None
            try:
                request = json.loads(line)
                if not isinstance(request, dict):
                    raise InvalidRequestError("a line is not a JSON object", "See docs/worker.md.")
                number, what = request.get("id"), request.get("do")
                if what in REQUESTS:
                    given = {name: value for name, value in request.items() if value is not None}
                    begin(number, convert(given, REQUESTS[what]))
                elif what not in CONTROLS:
                    raise InvalidRequestError(f"nothing is called {what!r}", "ask, read, complete, or a control.")
                elif number in jobs:  # not finished
                    _control(queue, *jobs[number], request)
            except WimEdgeError as error:
                write(number, Failed(**error.to_dict()).to_dict())
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ArithmeticError) as error:
                why = f"the request cannot be understood: {type(error).__name__}: {error}"
                write(number, Failed(InvalidRequestError.__name__, why, "See docs/worker.md.").to_dict())
    finally:
        queue.close()


def _control(queue: JobQueue, job: Job, verdicts: dict[int, bool], request: dict[str, Any]) -> None:
    match request["do"]:
        case "answer_now":
            queue.answer_now(job)
        case "cancel":
            queue.cancel(job)
        case "judge":
            judged = convert(request, WorkerJudge)
            verdicts[judged.segment] = judged.accepted
            queue.judge(job, judged.segment, judged.accepted)
