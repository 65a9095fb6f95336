"""Routes: the models that can be named, and their downloads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.errors import DownloadError, WimEdgeError
from wim_edge.reading import events
from wim_edge.reading.events import Event
from wim_edge.server.dependencies import ERRORS, Served, sse_events
from wim_edge.server.job_queue import Failed, Job
from wim_edge.settings import Paths

_LOG = logging.getLogger(__name__)

router = APIRouter(tags=["machine"], responses=ERRORS)


class ModelView(BaseModel):
    name: str
    description: str
    licence: str
    parameters: str
    context: int = Field(description="Tokens.")
    bytes: int
    judge: str | None = Field(description="The model that judges for it unless a request says otherwise; null: none.")
    memory_bytes: int = Field(description="What it needs to read and answer, with its judge.")
    fits: bool = Field(description="Whether this machine has so much.")
    here: bool = Field(description="Whether its file is on this disk.")
    embeds: bool = Field(description="Whether that is an embedding model.")
    writes: bool = Field(description="Whether it words answers; one that only points does not.")
    loaded: bool


@dataclass(frozen=True)
class PullProgress(Event):
    """The first ``bytes`` of a model's ``of`` bytes are here; ``of`` is None if their number is unknown. Models
    that work along with it come after it."""

    type = "pull.progress"
    model: str
    bytes: int
    of: int | None


@dataclass(frozen=True)
class PullFinished(Event):
    """The model is on this disk, and verified, and so are those that were fetched with it: its judge, its scout."""

    type = "pull.finished"
    model: str
    fetched_with: tuple[str, ...]


@router.get("/models")
async def list_models(served: Served) -> list[ModelView]:
    """Lists the models that can be named, from the lowest rank up."""
    return await run_in_threadpool(_models, served.queue.in_memory)


def _models(loaded: Sequence[str]) -> list[ModelView]:
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    found = [catalog.facts(entry, models, paths) for entry in models]
    return [ModelView(**one, here=one["path"] is not None, loaded=one["name"] in loaded) for one in found]


_SOON = 5.0  # seconds after which one who asked for a download has begun to watch it, or has gone


class _GoneError(Exception):
    """Is raised where nobody waits for the download any more."""


def _pulled(served: Served, name: Annotated[str, Path(max_length=200)]) -> Job:
    """Returns the download under way, whoever began it; it goes on in a thread of its own while anybody watches."""
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    entry = models.get(name)
    missing = [one for one in catalog.companions(entry, models, paths) if not catalog.locate(one, paths)]
    with served.lock:
        job = served.pulls.get(name)
        if job is None or job.is_finished:
            job = served.pulls[name] = Job(lambda runtime: iter(()), served.settings, state="running")
            threading.Thread(target=_pull, args=(job, paths, entry, missing), name="wim-edge pull", daemon=True).start()
    return job


def _pull(job: Job, paths: Paths, entry: ModelEntry, others: Sequence[ModelEntry] = ()) -> None:
    """Fetches a model and others that work along with it. That these cannot be fetched is a warning: the model is
    here."""
    last, begun = -1, time.monotonic()

    def progress(model: str, done: int, of: int | None) -> None:
        nonlocal last
        if job.abandoned or (job.watched is None and time.monotonic() > begun + _SOON):
            raise _GoneError
        if (step := done >> 20) != last:  # an event a MiB
            last = step
            job.tell(PullProgress(model, done, of))

    def fetch(one: ModelEntry) -> None:
        nonlocal last
        last = -1
        job.tell(PullProgress(one.name, 0, one.bytes))
        catalog.fetch(one, paths, partial(progress, one.name))

    try:
        fetch(entry)
        fetched = []
        for other in others:
            try:
                fetch(other)
                fetched.append(other.name)
            except WimEdgeError as error:
                job.tell(events.Warning(f"couldn't fetch {other.name}: {str(error).rstrip('.')}. {error.hint}"))
        job.tell(PullFinished(entry.name, tuple(fetched)))
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
    """Fetches a model, and those that work along with it, and streams the progress. It stops when nobody watches, and
    goes on from there the next time."""
    job.watched = (job.watched or 0) + 1
    try:
        async for event in sse_events(job):
            yield event
    finally:
        job.watched = (job.watched or 1) - 1
