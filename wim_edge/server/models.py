"""Routes: the catalog's models and their downloads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.errors import DownloadError, WimEdgeError
from wim_edge.reading import events
from wim_edge.reading.control import Decision
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
    memory_bytes: int = Field(description="The memory that it needs to read and answer, with its judge.")
    fits: bool = Field(description="True if this machine has that much memory.")
    here: bool = Field(description="True if its file is on this disk.")
    embeds: bool = Field(description="True for an embedding model.")
    writes: bool = Field(description="True if it words answers; one that only points does not.")
    loaded: bool


@dataclass(frozen=True)
class PullProgress(Event):
    """The bytes of a model that are here so far, of ``of`` (None: unknown). Files that go with it follow."""

    type = "pull.progress"
    model: str
    bytes: int
    of: int | None


@dataclass(frozen=True)
class PullFinished(Event):
    """The model is on this disk and verified, and so are the companions fetched with it: its judge, its scout."""

    type = "pull.finished"
    model: str
    fetched_with: tuple[str, ...]


@router.get("/models")
def list_models(served: Served) -> list[ModelView]:
    """Lists the models of the catalog, from the lowest rank up."""
    loaded = served.queue.in_memory
    return [ModelView(**one, here=one["path"] is not None, loaded=one["name"] in loaded) for one in catalog_facts()]


def catalog_facts() -> list[dict[str, Any]]:
    """Returns what is known of each model of the catalog (`catalog.facts`)."""
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    return [catalog.facts(entry, models, paths) for entry in models]


_GRACE = 5.0  # seconds in which the client that started a download must begin to follow it


class _GoneError(Exception):
    """Raised to stop a download that nobody follows."""


def _pulled(served: Served, name: Annotated[str, Path(max_length=200)]) -> Job:
    """Returns the download under way, whoever started it. It runs in its own thread while anybody follows it."""
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    entry = models.get(name)
    missing = [one for one in catalog.companions(entry, models, paths) if not catalog.locate(one, paths)]
    with served.lock:
        job = served.pulls.get(name)
        if job is None or job.is_finished:
            job = served.pulls[name] = Job(state="running")
            threading.Thread(target=_pull, args=(job, paths, entry, missing), name="wim-edge pull", daemon=True).start()
    return job


def _pull(job: Job, paths: Paths, entry: ModelEntry, companions: Sequence[ModelEntry]) -> None:
    """Fetches a model and its companions. A companion that cannot be fetched is a warning: the model is here."""
    last, begun = -1, time.monotonic()

    def progress(model: str, done: int, of: int | None) -> None:
        nonlocal last
        is_late = time.monotonic() > begun + _GRACE
        if job.wish or (is_late if job.is_abandoned is None else job.is_abandoned):
            job.wish = Decision.CANCEL
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
        for other in companions:
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
    except Exception as error:  # noqa: BLE001 - the library that downloads may wrap our error
        _LOG.log(logging.DEBUG if job.wish else logging.ERROR, "a download failed", exc_info=True)
        if not job.wish:
            job.tell(Failed(DownloadError.__name__, f"{entry.name}: {type(error).__name__}", "See the server's log."))
        job.end("cancelled" if job.wish else "failed")


@router.post("/models/{name}/pull", response_class=EventSourceResponse)
async def pull_model(job: Annotated[Job, Depends(_pulled)]) -> AsyncIterator[ServerSentEvent]:
    """Fetches a model and its companions, and streams the progress. Stops when nobody follows, and continues from there
    the next time."""
    async for event in sse_events(job):
        yield event
