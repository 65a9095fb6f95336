"""The runtime for a parent process: one JSON object a line on standard input and output.

    {"id": 1, "do": "ask", "documents": ["a.pdf", {"name": "b", "text": "..."}], "question": "...", "settings": {}}
    {"id": 2, "do": "read", "documents": ["a.pdf"]}
    {"id": 3, "do": "complete", "prompt": "Once" or [["user", "Hello."]]}
    {"id": 1, "do": "answer_now"}
    {"id": 1, "do": "cancel"}
    {"id": 1, "do": "judge", "segment": 3, "accepted": false}

Answers are the events of docs/events.md with the ``id`` of their request; `queued` comes first, and where it fails
`error` last. ``settings`` are fields of `wim_edge.Settings`; of ask, ``judged`` maps segments to verdicts, and with
``"read_on": true`` the last question is read on (`Runtime.stream`). Requests are served in their order. The process
ends with its standard input.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from wim_edge.documents import Document, Mark
from wim_edge.errors import InvalidRequestError, WimEdgeError
from wim_edge.runtime import Runtime, Source
from wim_edge.server.job_queue import Failed, Job, JobQueue
from wim_edge.settings import Settings, from_dict
from wim_edge.wim.events import Event

_WAITING = 1000
_CONTROLS = ("answer_now", "cancel", "judge")
_MOST_LOGPROBS = 20


def serve(
    lines: Iterable[str], out: TextIO, settings: Settings, *, open_runtime: Callable[[Settings], Runtime] = Runtime
) -> None:
    """Serve requests until there are no more; what is under way then is cancelled."""
    queue = JobQueue(settings, most=_WAITING, open_runtime=open_runtime)
    jobs: dict[Any, tuple[Job, dict[int, bool]]] = {}
    writing = threading.Lock()

    def write(number: Any, event: dict[str, Any]) -> None:
        with writing:
            try:
                out.write(json.dumps({"id": number, **event}) + "\n")
                out.flush()
            except (OSError, ValueError):  # nobody hears what it tells
                os._exit(1)

    def forget(number: Any) -> None:
        jobs.pop(number, None)

    def begin(number: Any, request: dict[str, Any]) -> None:
        verdicts = {int(segment): bool(verdict) for segment, verdict in (request.get("judged") or {}).items()}
        job = Job(_work(request, verdicts), settings.with_changes(**from_dict(request.get("settings") or {})))
        job.on_event = lambda event: write(number, event)
        job.on_end = lambda _: forget(number)
        jobs[number] = job, verdicts
        queue.submit(job)

    try:
        for line in lines:
            number = None
            try:
                request = json.loads(line)
                number, what = request.get("id"), request.get("do")
                if what in ("ask", "read", "complete"):
                    begin(number, request)
                elif what not in _CONTROLS:
                    raise InvalidRequestError(f"nothing is called {what!r}", "ask, read, complete, or a control.")
                elif number in jobs:  # else it is over
                    _control(queue, *jobs[number], request)
            except WimEdgeError as error:
                write(number, Failed(**error.to_dict()).to_dict())
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ArithmeticError) as error:
                why = f"the request cannot be understood: {type(error).__name__}: {error}"
                write(number, Failed(InvalidRequestError.__name__, why, "See docs/embedding.md.").to_dict())
    finally:
        queue.close()


def _work(request: dict[str, Any], verdicts: dict[int, bool]) -> Callable[[Runtime], Iterator[Event]]:
    if request["do"] == "complete":
        prompt = request["prompt"]
        turns = prompt if isinstance(prompt, str) else [(str(role), str(text)) for role, text in prompt]
        top = request.get("top_logprobs")
        if top is not None and not (isinstance(top, int) and 0 <= top <= _MOST_LOGPROBS):
            raise InvalidRequestError(f"top_logprobs is {top!r:.50}", f"It takes 0 to {_MOST_LOGPROBS}.")
        return lambda runtime: runtime.complete(turns, top_logprobs=top)
    documents = [_document(one) for one in request["documents"]]
    if request["do"] == "read":
        return lambda runtime: runtime.read(documents)
    question, library = str(request["question"]), request.get("library")
    if not isinstance(library, str | None):
        raise InvalidRequestError(f"library is {library!r:.50}", "It takes a name.")
    on = bool(request.get("read_on"))
    return lambda runtime: runtime.stream(documents, question, library=library, verdicts=verdicts, read_on=on)


def _control(queue: JobQueue, job: Job, verdicts: dict[int, bool], request: dict[str, Any]) -> None:
    match request["do"]:
        case "answer_now":
            queue.answer_now(job)
        case "cancel":
            queue.cancel(job)
        case "judge":
            verdicts[int(request["segment"])] = bool(request["accepted"])
            queue.judge(job, int(request["segment"]), bool(request["accepted"]))


def _document(given: Any) -> Source:
    if isinstance(given, str):
        if given == "-" or (os.path.exists(given) and not os.path.isfile(given)):
            # A pipe could be waited for for ever, and standard input is what requests come by
            raise InvalidRequestError(f"{given}: not a file", "Name a file, or send its text.")
        return given
    if not isinstance(given["text"], str):
        raise InvalidRequestError(f"a document's text is {given['text']!r:.50}", "Send it as a text.")
    marks = tuple(_mark(*mark) for mark in given.get("marks") or ())
    path = Path(given["path"]) if given.get("path") else None
    notes = tuple(str(note) for note in given.get("notes") or ())
    parts = tuple((int(start), int(end)) for start, end in given.get("parts") or ())
    return Document(str(given["name"]), given["text"], marks, path, notes, str(given.get("title") or ""), parts)


def _mark(start: Any, page: Any = None, section: Any = None) -> Mark:
    return Mark(int(start), None if page is None else int(page), None if section is None else str(section))
