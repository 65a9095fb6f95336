"""Routes: the state of the machine, the values of options, and the saved readings on this disk."""

from __future__ import annotations

from typing import Annotated

import psutil
from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from wim_edge.engine import available_memory
from wim_edge.errors import LibraryError
from wim_edge.library import FAILURES, ReadingStore
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
def status(served: Served) -> ServerStatus:
    """Returns the state of the machine, and the values of options."""
    resolved = resolved_settings(served.settings)
    settings = {name: ExplainedSetting(**setting) for name, setting in resolved.explained().items()}
    return ServerStatus(
        model=served.queue.model, judge=served.queue.judge_name, waiting=served.queue.waiting,
        memory_bytes=psutil.Process().memory_info().rss, memory_free_bytes=available_memory.available(),
        cpu_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        read_on=served.read_on,
        folders=served.store.folders.paths, patterns=list(PATTERNS),
        relevances=list(RELEVANCES), margins=list(MARGINS), retrievers=list(RETRIEVERS), settings=settings,
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
        found = ReadingStore.of(served.settings).readings()
    except FAILURES as error:
        raise LibraryError(f"the readings cannot be listed: {error}", "Ask again.") from error
    return [ReadingView.model_validate(one, from_attributes=True) for one in found]


@router.delete("/readings/{number}", status_code=204)
def remove_reading(served: Served, number: Annotated[int, Path(ge=1, lt=2**63)]) -> None:
    """Removes a reading; a question about its text reads it again."""
    if number not in [one.id for one in list_readings(served)]:
        raise LibraryError(f"there is no reading {number}", "GET /api/readings lists them.")
    try:
        ReadingStore.of(served.settings).remove(number)
    except FAILURES as error:
        raise LibraryError(f"the reading cannot be removed: {error}", "Ask again.") from error
