"""Routes: the readings that are kept on this disk."""

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
    tokens: int = Field(description="That are kept.")
    of_tokens: int = Field(description="Of the whole text.")
    bytes: int


Number = Annotated[int, Path(ge=1, lt=2**63)]


@router.get("/readings")
async def list_readings(served: Served) -> list[ReadingView]:
    """Lists the readings that are kept on this disk, for all models."""
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
    """Removes a reading; its text is read again when it is asked about."""
    if number not in [one.id for one in await run_in_threadpool(_readings, served)]:
        raise LibraryError(f"there is no reading {number}", "GET /api/readings lists those there are.")
    try:
        await run_in_threadpool(ReadingStore.of(served.settings).remove, number)
    except FAILURES as error:
        raise LibraryError(f"the reading cannot be removed: {error}", "Ask again.") from error
