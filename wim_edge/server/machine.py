"""Routes for the machine: its state, the values of options, saved readings, models and their downloads."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import psutil
from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.engine import available_memory
from wim_edge.engine.protocols import Interrupted
from wim_edge.errors import DownloadError, LibraryError, WimEdgeError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.reading import events
from wim_edge.reading.control import Decision
from wim_edge.reading.events import Event
from wim_edge.roles import resolved_settings
from wim_edge.server.dependencies import ERRORS, Served, sse_events
from wim_edge.server.job_queue import Failed, Job
from wim_edge.settings import MARGINS, PATTERNS, RELEVANCES, RETRIEVERS

_LOG = logging.getLogger(__name__)
router = APIRouter(tags=["machine"], responses=ERRORS)


class ExplainedSetting(BaseModel):
    value: str | int | float | bool | list[str] | None
    origin: str = Field(description="given, a variable's name, tuned, models.toml, pattern or default.")


class ServerStatus(BaseModel):
    model: str | None = Field(description="The model of the last question; null: none yet.")
    judge: str | None = Field(description="The model that judges which passages answer; null: the same one.")
    waiting: int = Field(description="Requests in line, including the running one.")
    memory_bytes: int = Field(description="The memory of the server.")
    memory_free_bytes: int
    cpu_cores: int
    read_on: bool = Field(description="True to read on after answers, unless a request says otherwise.")
    folders: list[str] = Field(description="The allowed folders.")
    patterns: list[str]
    relevances: list[str]
    margins: list[str]
    retrievers: list[str]
    settings: dict[str, ExplainedSetting] = Field(description="The defaults of a question.")


@router.get("/status")
def status(served: Served) -> ServerStatus:
    """Returns the state of the server and its machine, and the possible values of options."""
    explained = resolved_settings(served.settings).explained()
    roles = served.queue.roles
    return ServerStatus(
        model=served.queue.model, judge=roles.judge.name if roles and roles.judge else None,
        waiting=served.queue.waiting, memory_bytes=psutil.Process().memory_info().rss,
        memory_free_bytes=available_memory.available(),
        cpu_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1, read_on=served.read_on,
        folders=served.store.folders.paths, patterns=list(PATTERNS), relevances=list(RELEVANCES),
        margins=list(MARGINS), retrievers=list(RETRIEVERS),
        settings={name: ExplainedSetting(**setting) for name, setting in explained.items()},
    )  # fmt: skip


class ReadingView(BaseModel):
    id: int
    title: str
    model: str
    shape: str = Field(description="deep or shallow.")
    tokens: int = Field(description="The saved tokens.")
    of_tokens: int = Field(description="The tokens of the whole text.")
    bytes: int


@router.get("/readings")
def list_readings(served: Served) -> list[ReadingView]:
    """Lists the saved readings of all models."""
    try:
        found = ReadingStore.of(served.settings).index.readings()
    except FAILURES as error:
        raise LibraryError(f"the readings cannot be listed: {error}", "Ask again.") from error
    return [ReadingView.model_validate(one, from_attributes=True) for one in found]


@router.delete("/readings/{number}", status_code=204)
def remove_reading(served: Served, number: Annotated[int, Path(ge=1, lt=2**63)]) -> None:
    """Deletes a saved reading. The next question about its text reads the text again."""
    if number not in [one.id for one in list_readings(served)]:
        raise LibraryError(f"there is no reading {number}", "GET /api/readings lists them.")
    try:
        ReadingStore.of(served.settings).remove(number)
    except FAILURES as error:
        raise LibraryError(f"the reading cannot be removed: {error}", "Ask again.") from error


# Models


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
    """The downloaded ``bytes`` of a model's file, out of ``of`` (None: unknown). Its companions' files follow."""

    type = "pull.progress"
    model: str
    bytes: int
    of: int | None


@dataclass(frozen=True)
class PullFinished(Event):
    """The model is on this disk and verified. ``fetched_with``: the companions (judge, scout) that were fetched too."""

    type = "pull.finished"
    model: str
    fetched_with: tuple[str, ...]


@router.get("/models")
def list_models(served: Served) -> list[ModelView]:
    """Lists the models of the catalog by rising rank: the best model comes last."""
    roles = served.queue.roles
    loaded = roles.model.in_memory if roles else []
    return [ModelView(**one, here=one["path"] is not None, loaded=one["name"] in loaded) for one in catalog_facts()]


def catalog_facts() -> list[dict[str, Any]]:
    """Returns the properties of each model in the catalog (`catalog.facts`), the lowest rank first."""
    models = Catalog.load()
    return [catalog.facts(entry, models) for entry in models]


def _wanted(name: str) -> list[ModelEntry]:
    """Returns the model of this name, and its companions (judge, scout) that are not on this disk."""
    models = Catalog.load()
    entry = models.get(name)
    return [entry, *(one for one in catalog.companions(entry, models) if not catalog.is_ready(one))]


async def _pulled(served: Served, name: Annotated[str, Path(max_length=200)]) -> AsyncIterator[Job]:
    """Yields the job that downloads a model; if none runs, starts one. It stops when its last follower has left."""
    wanted, job = await run_in_threadpool(_wanted, name), served.pulls.get(name)
    if job is None or job.is_finished:
        job = served.pulls[name] = Job()
    job.followers += 1
    if job.state == "waiting":
        job.state = "running"
        threading.Thread(target=_pull, args=(job, *wanted), name="wim-edge pull", daemon=True).start()
    try:
        yield job
    finally:
        job.followers -= 1


def _pull(job: Job, entry: ModelEntry, *companions: ModelEntry) -> None:
    """Downloads a model and its ``companions`` (judge, scout), as a job. If a companion fails, only warns about it."""

    def progress(model: str, done: int, of: int | None) -> None:
        if job.wish or not job.followers:
            job.wish = Decision.CANCEL
            raise Interrupted
        if done >> 20 != job.events[-1]["bytes"] >> 20:  # one event per MiB
            job.tell(PullProgress(model, done, of))

    def fetch(one: ModelEntry) -> None:
        job.tell(PullProgress(one.name, 0, one.bytes))
        catalog.fetch(one, partial(progress, one.name))

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
    """Downloads a model and its companions (judge, scout), and streams the progress. The download stops if no client
    follows it; the next request continues it."""
    async for event in sse_events(job.follow()):
        yield event
