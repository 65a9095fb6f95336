"""Routes: the pages of a PDF as they look, and where the words of its text stand on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.documents import Document
from wim_edge.documents.pdf_pages import WIDEST, page_image, page_sizes, page_words
from wim_edge.errors import LibraryError
from wim_edge.server.dependencies import ERRORS, Served, Service

router = APIRouter(prefix="/documents/{document}/pages", tags=["documents"], responses=ERRORS)
T = TypeVar("T")


class PageView(BaseModel):
    """A page as it is shown: its size in points, and the characters of the document's text that stand on it."""

    width: float
    height: float
    start: int
    end: int


class PageWords(BaseModel):
    """The words of a page, and where they stand on it."""

    words: list[tuple[int, int, float, float, float, float]] = Field(
        description="The characters of the document's text from and to, then left, top, right and bottom as shares of "
        "the page's width and height. A word that is broken over two lines comes twice."
    )


@router.get("")
async def list_pages(served: Served, document: int) -> list[PageView]:
    """Lists the pages of a PDF, the first one first. 404 for a document that has none that could be shown."""
    return await run_in_threadpool(_of_pdf, served, document, _pages)


@router.get("/{page}/words")
async def get_words(served: Served, document: int, page: int) -> PageWords:
    """Returns where the words of a page stand on it. Pages count from 1."""

    def words(path: Path, text: Document) -> PageWords:
        start, end = _spans(text).get(page, (0, 0))
        found = page_words(path, page, text.text[start:end])
        return PageWords(words=[(start + one.start, start + one.end, *one.box) for one in found])

    return await run_in_threadpool(_of_pdf, served, document, words)


@router.get("/{page}/image", response_class=Response, responses={200: {"content": {"image/jpeg": {}}}})
async def get_image(
    served: Served, document: int, page: int, width: Annotated[int, Query(ge=16, le=WIDEST)] = 1200
) -> Response:
    """Returns a page as JPEG, so many pixels wide. Pages count from 1."""
    data = await run_in_threadpool(lambda: page_image(_pdf(served, document), page, width))
    return Response(data, media_type="image/jpeg")


def _of_pdf(served: Service, number: int, work: Callable[[Path, Document], T]) -> T:
    return work(_pdf(served, number), served.store.document(number).document)


def _pdf(served: Service, number: int) -> Path:
    path = served.store.pdf(number)
    if path is None:
        raise LibraryError(f"document {number} has no pages that could be shown", "Its text is there all the same.")
    return path


def _pages(path: Path, document: Document) -> list[PageView]:
    spans, at, found = _spans(document), 0, []
    for number, (width, height) in enumerate(page_sizes(path), 1):
        start, at = spans.get(number, (at, at))
        found.append(PageView(width=width, height=height, start=start, end=at))
    return found


def _spans(document: Document) -> dict[int, tuple[int, int]]:
    """Returns the characters ``[start, end)`` of each page that has text."""
    starts = [mark for mark in document.marks if mark.page is not None]
    ends = [*(mark.start for mark in starts[1:]), len(document.text)]
    return {mark.page: (mark.start, end) for mark, end in zip(starts, ends, strict=True) if mark.page is not None}
