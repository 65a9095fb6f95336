"""Routes: the state of the machine, and the values of options."""

from __future__ import annotations

import psutil
from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.engine import available_memory
from wim_edge.roles import resolved_settings
from wim_edge.server.dependencies import ERRORS, Served
from wim_edge.settings import MARGINS, PATTERNS, RELEVANCES, RETRIEVERS

router = APIRouter(tags=["machine"], responses=ERRORS)


class ExplainedSetting(BaseModel):
    value: str | int | float | bool | list[str] | None
    origin: str = Field(description="given, a variable's name, tuned.json, models.toml, pattern or default.")


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
async def status(served: Served) -> ServerStatus:
    """Returns the state of the machine, and the values of options."""
    resolved = await run_in_threadpool(resolved_settings, served.settings)
    settings = {name: ExplainedSetting(**setting) for name, setting in resolved.explained().items()}
    return ServerStatus(
        model=served.queue.model, judge=served.queue.judge_name, waiting=served.queue.waiting,
        memory_bytes=psutil.Process().memory_info().rss, memory_free_bytes=available_memory.available(),
        cpu_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        read_on=served.read_on,
        folders=served.store.folders.paths, patterns=list(PATTERNS),
        relevances=list(RELEVANCES), margins=list(MARGINS), retrievers=list(RETRIEVERS), settings=settings,
    )  # fmt: skip
