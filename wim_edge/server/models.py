"""Routes: the models that can be named, and their downloads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.errors import DownloadError, WimEdgeError
from wim_edge.server.dependencies import ERRORS, Served, sse_events
from wim_edge.server.job_queue import Failed, Job
from wim_edge.settings import Paths
from wim_edge.wim.events import Event

_LOG = logging.getLogger(__name__)

router = APIRouter(tags=["machine"], responses=ERRORS)


class ModelView(BaseModel):
    name: str
    description: str
    licence: str
    parameters: str
    context: int = Field(description="Tokens.")
    bytes: int
    memory_bytes: int = Field(description="What it needs to read and answer.")
    fits: bool = Field(description="Whether this machine has so much.")
    here: bool = Field(description="Whether its file is on this disk.")
    embeds: bool = Field(description="Whether that is an embedding model.")
    loaded: bool


@dataclass(frozen=True)
class PullProgress(Event):
    """The first ``bytes`` of a model's ``of`` bytes are here; ``of`` is None if their number is unknown."""

    type = "pull.progress"
    bytes: int
    of: int | None


@dataclass(frozen=True)
class PullFinished(Event):
    """The model is on this disk, and verified."""

    type = "pull.finished"
    model: str


@router.get("/models")
async def list_models(served: Served) -> list[ModelView]:
    """Lists the models that can be named, from the lowest rank up."""
    return await run_in_threadpool(_models, served.queue.model)


def _models(loaded: str | None) -> list[ModelView]:
    paths = Paths.from_environment()
    return [_model(entry, paths, loaded) for entry in Catalog.load(paths)]


def _model(entry: ModelEntry, paths: Paths, loaded: str | None) -> ModelView:
    facts = catalog.facts(entry, paths)
    path = facts.pop("path")
    return ModelView(**facts, here=path is not None, loaded=loaded == entry.name)


_SOON = 5.0  # seconds after which one who asked for a download has begun to watch it, or has gone


class _GoneError(Exception):
    """Is raised where nobody waits for the download any more."""


def _pulled(served: Served, name: Annotated[str, Path(max_length=200)]) -> Job:
    """Returns the download under way, whoever began it; it goes on in a thread of its own while anybody watches."""
    paths = Paths.from_environment()
    entry = Catalog.load(paths).get(name)
    with served.lock:
        job = served.pulls.get(name)
        if job is None or job.is_finished:
            job = served.pulls[name] = Job(lambda runtime: iter(()), served.settings, state="running")
            threading.Thread(target=_pull, args=(job, entry, paths), name="wim-edge pull", daemon=True).start()
    return job


def _pull(job: Job, entry: ModelEntry, paths: Paths) -> None:
    last, begun = -1, time.monotonic()

    def progress(done: int, of: int | None) -> None:
        nonlocal last
        if job.abandoned or (job.watched is None and time.monotonic() > begun + _SOON):
            raise _GoneError
        if (step := done >> 20) != last:  # an event a MiB
            last = step
            job.tell(PullProgress(done, of))

    try:
        job.tell(PullProgress(0, entry.bytes))
        catalog.fetch(entry, paths, progress)
        job.tell(PullFinished(entry.name))
        job.end("done")
    except WimEdgeError as error:
        job.tell(Failed(**error.to_dict()))
        job.end("failed")
    except Exception as error:  # noqa: BLE001 - the library that downloads may wrap ours
        # Of one that was abandoned that is how it ends; a fault of ours is to be found all the same
        _LOG.log(logging.DEBUG if job.abandoned else logging.ERROR, "a download failed", exc_info=True)
        if not job.abandoned:
            job.tell(Failed(DownloadError.__name__, f"{entry.name}: {type(error).__name__}", "See the server's log."))
        job.end("cancelled" if job.abandoned else "failed")


@router.post("/models/{name}/pull", response_class=EventSourceResponse)
async def pull_model(job: Annotated[Job, Depends(_pulled)]) -> AsyncIterator[ServerSentEvent]:
    """Fetches a model and streams the progress. It stops when nobody watches, and goes on from there the next time."""
    job.watched = (job.watched or 0) + 1
    try:
        async for event in sse_events(job):
            yield event
    finally:
        job.watched = (job.watched or 1) - 1
