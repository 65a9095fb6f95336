"""The objects that routes share: the service, base classes of request bodies, error responses and event streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from fastapi.sse import ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field, model_validator

from wim_edge import catalog, errors
from wim_edge.documents.document import well_formed
from wim_edge.errors import InvalidRequestError, ModelNotFoundError, WimEdgeError
from wim_edge.reading.control import Decision
from wim_edge.server.guard import SHELF
from wim_edge.server.history import AskedQuestion, History
from wim_edge.server.job_queue import BusyError, Job, JobQueue
from wim_edge.server.uploads import LIBRARY, Uploads, digest_of
from wim_edge.settings import ANSWERS, ITSELF, PATTERNS, RELEVANCES, WITHIN_PATTERN, Settings, from_dict

T = TypeVar("T")
_WRITERS, _MAX_WRITING = 2, 32
_MAX_FIELDS, _MAX_SHELF_CHARS = 64, 200


@dataclass
class Service:
    settings: Settings
    store: Uploads
    history: History
    read_on: bool = False
    """The default of requests: True to continue the reading after an answer, while no other request waits."""
    queue: JobQueue = field(init=False)
    """The job queue, which exists from the start to the end of the application."""
    pulls: dict[str, Job] = field(default_factory=dict)
    """The latest download of each model, by the model's name."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _shelves: dict[str, Service] = field(default_factory=dict)
    _writers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_WRITERS))

    async def writing(self, work: Callable[..., T], *given: Any) -> T:
        """Runs ``work(*given)`` in a thread and returns its result, so that a slow disk does not block other requests.
        Two calls run at a time. Raises BusyError if 32 calls wait already."""
        waiting = self._writers.statistics().tasks_waiting
        if waiting >= _MAX_WRITING:
            raise BusyError(waiting, 10)
        async with self._writers:  # in line at once: `run_sync` would let others pass the check before it is
            return await to_thread.run_sync(partial(work, *given))

    def close(self) -> None:
        """Cancels all downloads and jobs, which ends their event streams, and frees the model."""
        for job in self.pulls.values():
            if not job.is_finished:
                job.wish = Decision.CANCEL
                job.end("cancelled")
        self.queue.close()

    async def follow(self, request: Request, job: Job) -> AsyncIterator[dict[str, Any]]:
        """Yields a job's events, and cancels the job as soon as the client of ``request`` disconnects."""

        async def watch() -> None:
            while not await request.is_disconnected():
                await asyncio.sleep(0.1)
            self.queue.cancel(job)

        watcher = asyncio.create_task(watch())
        try:
            async for event in job.follow():
                yield event
        finally:
            watcher.cancel()
            self.queue.cancel(job)

    def forget(self, question: AskedQuestion) -> None:
        """Cancels a question and removes it from the history. Raises LibraryError if its file cannot be deleted."""
        self.queue.cancel(question.job)
        self.history.remove(question)

    def of_shelf(self, name: str) -> Service:
        """Returns the service of the shelf ``name``: a client's documents and questions, with the models that all
        shelves share. For an empty name, returns this service. Raises LibraryError if the shelf cannot be opened."""
        if not name:
            return self
        with self.lock:
            if name not in self._shelves:
                library = f"{LIBRARY}.{digest_of(name.encode())}"  # a name may contain anything
                store = Uploads(self.store.folders, self.settings, library)
                self._shelves[name] = replace(self, store=store, history=History(store.folder / "questions"))
                self._shelves[name].queue = self.queue
            return self._shelves[name]

    def settings_for(self, options: dict[str, Any]) -> Settings:
        """Returns the settings of a request with these ``options``. Raises InvalidRequestError for a wrong option, and
        ModelNotFoundError for a model or judge that is neither the server's own nor in the catalog and on this disk."""
        options = from_dict(options)  # renames the options of a question that an older version stored
        own = {"model": (None, self.settings.model, self.queue.model), "judge": (None, self.settings.judge, ITSELF)}
        for name in (options.get(role) for role, known in own.items() if options.get(role) not in known):
            if not catalog.is_here(str(name)):
                raise ModelNotFoundError(f"no model of that name is on this disk: {name}", "GET /v1/models lists them.")
        return self.settings.with_changes(**options)


def _service(request: Request) -> Service:
    found = request.app.state.service
    assert isinstance(found, Service)
    return found.of_shelf((request.headers.get(SHELF) or request.cookies.get(SHELF, ""))[:_MAX_SHELF_CHARS])


Served = Annotated[Service, Depends(_service)]


class StrictModel(BaseModel):
    """The base class of request bodies. A request with an unknown field is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _limit_fields(cls, given: Any) -> Any:
        """Raises one ValueError for an object of more than 64 fields, instead of one error for each unknown field."""
        if isinstance(given, dict) and len(given) > _MAX_FIELDS:
            raise ValueError(f"{len(given):,} fields")
        return given


class ReadingChoices(StrictModel):
    """The reading options that every API takes. If an option is null, the server's or the model's default applies."""

    judge: str | None = Field(
        default=None, max_length=200, description="The model that decides which passages answer; self: the model."
    )
    first: bool | None = Field(default=None, description="Stop reading at the first sure answer.")
    pattern: Literal[PATTERNS] | None = None  # type: ignore[valid-type]
    relevance: Literal[RELEVANCES] | None = None  # type: ignore[valid-type]
    within: str | None = Field(
        default=None, max_length=24, pattern=WITHIN_PATTERN, description="The most to read: auto, 20s, 5m, 10% or all."
    )
    max_passages: int | None = Field(default=None, ge=1, le=64)
    answer: Literal[ANSWERS] | None = Field(default=None, description="The kind of answer.")  # type: ignore[valid-type]


class ErrorDetail(BaseModel):
    type: str = Field(description="The error's class.")
    message: str
    hint: str = Field(description="What to do about it.")


class ErrorBody(BaseModel):
    error: ErrorDetail


def _responses(descriptions: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorBody, "description": one} for status, one in descriptions.items()}


ERRORS = _responses({
    400: "The request is wrong.", 401: "A token is required.", 403: "The Host or the Origin is not allowed.",
    404: "There is no such thing.", 408: "The body did not arrive.",
    413: "It is larger than the server, or the model's context, takes.",
    422: "It has the wrong form, or the document cannot be read.",
    503: "The disk, or what is on it, cannot be used now.",
})  # fmt: skip
BUSY = _responses({429: "Too many requests wait; Retry-After gives the seconds."})
_STATUS: tuple[tuple[type[WimEdgeError], int], ...] = (
    (BusyError, 429), (InvalidRequestError, 400), (errors.DocumentError, 422), (errors.ModelError, 404),
    (errors.CapacityError, 413), (errors.LibraryError, 404),
)  # fmt: skip


def error_response(
    error: Mapping[str, str], status: int | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Returns the JSON response for an error as a dict. ``status``: by default, the status of the error's class."""
    kind = BusyError if error["error"] == BusyError.__name__ else getattr(errors, error["error"], None)
    usual = next((status for one, status in _STATUS if isinstance(kind, type) and issubclass(kind, one)), 500)
    body = {"type": error["error"], "message": well_formed(error["message"]), "hint": well_formed(error["hint"])}
    return JSONResponse({"error": body}, status or usual, headers)


async def sse_events(found: AsyncGenerator[dict[str, Any]], start: int = 0) -> AsyncIterator[ServerSentEvent]:
    """Converts events (JSON objects) to Server-Sent Events, numbered from ``start`` on. Closes ``found`` at the end."""
    async with aclosing(found):
        async for event in found:
            yield ServerSentEvent(data=event, event=event["type"], id=str(start))
            start += 1
