"""Routes: the saved readings on this disk."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.errors import LibraryError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.server.dependencies import ERRORS, Served

router = APIRouter(tags=["machine"], responses=ERRORS)


class ReadingView(BaseModel):
    id: int
    title: str
    model: str
    shape: str = Field(description="deep or shallow.")
    tokens: int = Field(description="The saved tokens.")
    of_tokens: int = Field(description="The tokens of the whole text.")
    bytes: int


@router.get("/readings")
async def list_readings(served: Served) -> list[ReadingView]:
    """Lists the saved readings of all models."""
    return await run_in_threadpool(_readings, served)


def _readings(served: Served) -> list[ReadingView]:
    try:
        found = ReadingStore.of(served.settings).readings()
    except FAILURES as error:
        raise LibraryError(f"the readings cannot be listed: {error}", "Ask again.") from error
    return [ReadingView.model_validate(one, from_attributes=True) for one in found]


@router.delete("/readings/{number}", status_code=204)
async def remove_reading(served: Served, number: Annotated[int, Path(ge=1, lt=2**63)]) -> None:
    """Removes a reading; a question about its text reads it again."""
    if number not in [one.id for one in await run_in_threadpool(_readings, served)]:
        raise LibraryError(f"there is no reading {number}", "GET /api/readings lists them.")
    try:
        await run_in_threadpool(ReadingStore.of(served.settings).remove, number)
    except FAILURES as error:
        raise LibraryError(f"the reading cannot be removed: {error}", "Ask again.") from error
