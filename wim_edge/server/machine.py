"""The machine: what it is doing, which models there are, and the readings that are kept."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import psutil
from fastapi import APIRouter, Depends, Path
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.documents.document import well_formed
from wim_edge.engine import available_memory
from wim_edge.errors import DownloadError, LibraryError, WimEdgeError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.loaded_models import resolved_settings
from wim_edge.server.dependencies import ERRORS, Served, sent
from wim_edge.server.job_queue import Failed, Job
from wim_edge.settings import CHOOSERS, MARGINS, PATTERNS, RELEVANCES, Paths
from wim_edge.wim.events import Event

router = APIRouter(tags=["machine"], responses=ERRORS)


class ExplainedSetting(BaseModel):
    value: str | int | float | bool | list[str] | None
    origin: str = Field(description="given, a variable's name, tuned.json, models.toml, pattern or default.")


class Status(BaseModel):
    model: str | None = Field(description="The one that is loaded.")
    waiting: int = Field(description="Requests in line, the one that is done among them.")
    memory_bytes: int = Field(description="What the server holds.")
    memory_free_bytes: int
    cpu_cores: int
    read_on: bool = Field(description="Whether questions are read on after their answers, unless a request says.")
    folders: list[str] = Field(description="Those whose files may be named.")
    patterns: list[str]
    relevances: list[str]
    margins: list[str]
    choosers: list[str]
    settings: dict[str, ExplainedSetting] = Field(description="With which a question is answered that sets none.")


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
    loaded: bool


class ReadingView(BaseModel):
    id: int
    title: str
    model: str
    shape: str = Field(description="deep or shallow.")
    tokens: int = Field(description="That are kept.")
    of_tokens: int = Field(description="Of the whole text.")
    bytes: int


@dataclass(frozen=True)
class PullProgress(Event):
    """So many bytes of a model are here, of so many."""

    type = "pull.progress"
    bytes: int
    of: int | None


@dataclass(frozen=True)
class PullFinished(Event):
    """The model is on this disk, and verified."""

    type = "pull.finished"
    model: str


Number = Annotated[int, Path(ge=1, lt=2**63)]


@router.get("/status")
async def status(served: Served) -> Status:
    """What the machine is doing, and what may be chosen."""
    resolved = await run_in_threadpool(resolved_settings, served.settings)
    settings = {
        name: ExplainedSetting(value=list(value) if isinstance(value, tuple) else value, origin=origin)
        for name, (value, origin) in resolved.explained().items()
    }
    return Status(
        model=served.desk.model, waiting=served.desk.waiting, memory_bytes=psutil.Process().memory_info().rss,
        memory_free_bytes=available_memory.available(),
        cpu_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        read_on=served.read_on,
        folders=[well_formed(str(folder)) for folder in served.store.folders.paths], patterns=list(PATTERNS),
        relevances=list(RELEVANCES), margins=list(MARGINS), choosers=list(CHOOSERS), settings=settings,
    )  # fmt: skip


@router.get("/models")
async def list_models(served: Served) -> list[ModelView]:
    """The models that can be named, from the lowest rank up."""
    return await run_in_threadpool(_models, served.desk.model)


def _models(loaded: str | None) -> list[ModelView]:
    paths = Paths.from_environment()
    return [_model(entry, paths, loaded) for entry in Catalog.load(paths)]


def _model(entry: ModelEntry, paths: Paths, loaded: str | None) -> ModelView:
    facts = catalog.facts(entry, paths)
    path = facts.pop("path")
    return ModelView(**facts, here=path is not None, loaded=loaded == entry.name)


_SOON = 5.0  # seconds after which one who asked for a download has begun to watch it, or has gone


class _GoneError(Exception):
    """Nobody waits for the download any more."""


def _pulled(served: Served, name: Annotated[str, Path(max_length=200)]) -> Job:
    """The download under way, whoever began it; it goes on in a thread of its own while anybody watches."""
    paths = Paths.from_environment()
    entry = Catalog.load(paths).get(name)
    with served.lock:
        job = served.pulls.get(name)
        if job is None or job.over:
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
        job.tell(Failed(type(error).__name__, str(error), error.hint))
        job.end("failed")
    except Exception as error:  # noqa: BLE001 - the library that downloads may wrap ours
        if not job.abandoned:
            job.tell(Failed(DownloadError.__name__, f"{entry.name}: {type(error).__name__}", "See the server's log."))
        job.end("cancelled" if job.abandoned else "failed")


@router.post("/models/{name}/pull", response_class=EventSourceResponse)
async def pull_model(job: Annotated[Job, Depends(_pulled)]) -> AsyncIterator[ServerSentEvent]:
    """Fetch a model, and watch. It stops when nobody watches any more, and goes on from there the next time."""
    job.watched = (job.watched or 0) + 1
    try:
        async for event in sent(job):
            yield event
    finally:
        job.watched = (job.watched or 1) - 1


@router.get("/readings")
async def list_readings(served: Served) -> list[ReadingView]:
    """The readings that are kept on this disk, for all models."""
    return await run_in_threadpool(_readings, served)


def _readings(served: Served) -> list[ReadingView]:
    try:
        return [
            ReadingView(id=one.id, title=one.title, model=one.model, shape=one.shape, tokens=one.tokens,
                        of_tokens=one.of_tokens, bytes=one.bytes)
            for one in ReadingStore.of(served.settings).readings()
        ]  # fmt: skip
    except FAILURES as error:
        raise LibraryError(f"the readings cannot be listed: {error}", "Ask again.") from error


@router.delete("/readings/{number}", status_code=204)
async def remove_reading(served: Served, number: Number) -> None:
    """Let go of a reading; its text is read again when it is asked about."""
    if number not in [one.id for one in await run_in_threadpool(_readings, served)]:
        raise LibraryError(f"there is no reading {number}", "GET /api/readings lists those there are.")
    try:
        await run_in_threadpool(ReadingStore.of(served.settings).remove, number)
    except FAILURES as error:
        raise LibraryError(f"the reading cannot be removed: {error}", "Ask again.") from error
