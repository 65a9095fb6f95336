"""Routes: the machine's state, and the values that may be chosen."""

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
    model: str | None = Field(description="The one that questions were last put to; null: none yet.")
    judge: str | None = Field(description="The model that judges which passages answer; null: that one itself.")
    waiting: int = Field(description="Requests in line, the one that is done among them.")
    memory_bytes: int = Field(description="What the server holds.")
    memory_free_bytes: int
    cpu_cores: int
    read_on: bool = Field(description="Whether questions are read on after their answers, unless a request says.")
    folders: list[str] = Field(description="Those whose files may be named.")
    patterns: list[str]
    relevances: list[str]
    margins: list[str]
    retrievers: list[str]
    settings: dict[str, ExplainedSetting] = Field(description="With which a question is answered that sets none.")


@router.get("/status")
async def status(served: Served) -> ServerStatus:
    """Returns the machine's state, and the values that may be chosen."""
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
