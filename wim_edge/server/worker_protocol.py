"""Serves a parent process in JSON lines: requests on standard input, events on standard output (docs/worker.md).

A request may have ``judged``, which maps segment numbers to the user's verdicts (true: accepted). A request ``ask`` may
have ``read_on``: true to continue the reading of the last question (`Runtime.stream`).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import msgspec
from msgspec import Meta, Struct

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError, WimEdgeError
from wim_edge.reading.events import EVENTS, Event
from wim_edge.runtime import Runtime
from wim_edge.server.job_queue import Failed, Job, JobQueue, Queued
from wim_edge.settings import Settings, from_dict
from wim_edge.system.convert import convert

_WAITING = 1000
CONTROLS = ("answer_now", "cancel", "judge")
PROTOCOL = 1
"""The protocol's version. It rises with changes that older hosts would misunderstand, not with new fields or events."""
_ID = {"description": "any JSON value; the events of the request have the same"}


class _Request(Struct, kw_only=True):
    settings: dict[str, Any] = {}
    judged: dict[int, bool] = {}


class WorkerRead(_Request, kw_only=True):
    """Reads documents ahead, so that later questions about them are answered sooner."""

    documents: list[str | Document]

    def __post_init__(self) -> None:
        for one in self.documents:
            if one == "-" or (isinstance(one, str) and os.path.exists(one) and not os.path.isfile(one)):
                # A pipe could block for ever, and standard input ("-") carries the requests
                raise InvalidRequestError(f"{one}: not a file", "Name a file, or send its text.")

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.read(self.documents)


class WorkerAsk(WorkerRead, kw_only=True):
    """Asks a question about documents, a library, or both."""

    question: str
    library: str | None = None
    read_on: bool = False

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.stream(
            self.documents, self.question, library=self.library, verdicts=self.judged, read_on=self.read_on
        )


class WorkerComplete(_Request, kw_only=True):
    """Continues a prompt (a text), or answers a conversation of (role, text) messages."""

    prompt: str | list[tuple[str, str]]
    top_logprobs: Annotated[int, Meta(ge=0, le=20, description="0 to 20")] | None = None

    def run(self, runtime: Runtime) -> Iterator[Event]:
        return runtime.complete(self.prompt, top_logprobs=self.top_logprobs)


class WorkerJudge(Struct):
    """Accepts or rejects a segment as a source of the answer."""

    segment: int
    accepted: bool


REQUESTS: dict[object, type[WorkerRead | WorkerComplete]] = {
    "ask": WorkerAsk, "read": WorkerRead, "complete": WorkerComplete,
}  # fmt: skip


def serve(lines: Iterable[str], out: TextIO, settings: Settings) -> None:
    """Runs the requests in ``lines``, and writes their events to ``out``. Cancels open requests after the last line."""
    queue = JobQueue(settings, most=_WAITING)
    jobs: dict[Any, tuple[Job, dict[int, bool]]] = {}
    writing = threading.Lock()

    def write(number: Any, event: dict[str, Any]) -> None:
        with writing:
            try:
                out.write(json.dumps({"id": number, **event}) + "\n")
                out.flush()
            except (OSError, ValueError):  # the parent process has closed the pipe
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
                elif number in jobs:  # a control for a finished request has no effect
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


# The JSON Schema, for hosts in other languages


def worker_schema() -> dict[str, Any]:
    """Returns the protocol's JSON Schema (2020-12). In `$defs`, `request` is an input line, `event` an output line."""
    named: list[type] = [*REQUESTS.values(), WorkerJudge]
    kinds: list[type[Event]] = [*EVENTS, Queued, Failed]
    bodies, defs = schemas_of([*named, *kinds], "#/$defs/{name}")
    for body in bodies.values():
        _add(body, id=_ID)
    own = {"judge": bodies[WorkerJudge]}
    controls = [_add(own.get(name, {"type": "object", "properties": {}}), id=_ID, do={"const": name})
                for name in CONTROLS]  # fmt: skip
    asked = [_add(bodies[kind], do={"const": name}) for name, kind in REQUESTS.items()]
    defs |= {"request": {"oneOf": [*asked, *controls]}, "event": {"oneOf": [bodies[kind] for kind in kinds]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "protocol": PROTOCOL, "$defs": defs}


def schemas_of(kinds: Sequence[type], template: str) -> tuple[dict[type, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Returns ({class: JSON Schema}, {name: JSON Schema}). The second dict has the types of fields too. The schema of
    an event class requires a field `type`. ``template``: the text of a `$ref`, with `{name}` for the schema's name."""
    refs, defs = msgspec.json.schema_components(kinds, schema_hook=_hook, ref_template=template)
    bodies = {kind: defs[ref["$ref"].rsplit("/", 1)[1]] for kind, ref in zip(kinds, refs, strict=True)}
    for kind, body in bodies.items():
        if issubclass(kind, Event):
            _add(body, type={"const": kind.type})
    return bodies, defs


def _add(body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Adds required ``fields`` (name: schema) to the schema of an object, and returns the schema."""
    body["properties"] = {**fields, **body["properties"]}
    body["required"] = list(dict.fromkeys([*fields, *body.get("required", ())]))
    return body


def _hook(kind: type) -> dict[str, Any]:
    """Returns the JSON Schema of Path, which msgspec does not know. Raises NotImplementedError for any other type."""
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError
