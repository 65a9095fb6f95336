"""Routes: the pages of a PDF as images, and the places of its words on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.documents import Document
from wim_edge.documents.pdf_pages import WIDEST, page_image, page_sizes, page_words
from wim_edge.errors import LibraryError
from wim_edge.server.dependencies import ERRORS, Served

router = APIRouter(prefix="/documents/{document}/pages", tags=["documents"], responses=ERRORS)


class PageView(BaseModel):
    """A page: its size in points, and the characters ``[start, end)`` of the document's text on it."""

    width: float
    height: float
    start: int
    end: int


class PageWords(BaseModel):
    """The words of a page, and their places on it."""

    words: list[tuple[int, int, float, float, float, float]] = Field(
        description="The first character in the document's text and the one after the last; then left, top, right and "
        "bottom as shares of the page's width and height. A word that is broken over two lines comes twice."
    )


@router.get("")
async def list_pages(served: Served, document: int) -> list[PageView]:
    """Lists the pages of a PDF, in their order. 404 for a document without page images."""

    def pages() -> list[PageView]:
        path = _pdf(served, document)
        spans, at, found = _spans(served.store.document(document).document), 0, []
        for number, (width, height) in enumerate(page_sizes(path), 1):
            start, at = spans.get(number, (at, at))
            found.append(PageView(width=width, height=height, start=start, end=at))
        return found

    return await run_in_threadpool(pages)


@router.get("/{page}/words")
async def get_words(served: Served, document: int, page: int) -> PageWords:
    """Returns the places of the words of a page. Pages count from 1."""

    def words() -> PageWords:
        path, text = _pdf(served, document), served.store.document(document).document
        start, end = _spans(text).get(page, (0, 0))
        found = page_words(path, page, text.text[start:end])
        return PageWords(words=[(start + one.start, start + one.end, *one.box) for one in found])

    return await run_in_threadpool(words)


@router.get("/{page}/image", response_class=Response, responses={200: {"content": {"image/jpeg": {}}}})
async def get_image(
    served: Served, document: int, page: int, width: Annotated[int, Query(ge=16, le=WIDEST)] = 1200
) -> Response:
    """Returns a page as JPEG, this many pixels wide. Pages count from 1."""
    data = await run_in_threadpool(lambda: page_image(_pdf(served, document), page, width))
    return Response(data, media_type="image/jpeg")


def _pdf(served: Served, number: int) -> Path:
    path = served.store.pdf(number)
    if path is None:
        raise LibraryError(f"document {number} has no page images", "Its text is there all the same.")
    return path


def _spans(document: Document) -> dict[int, tuple[int, int]]:
    """Returns the characters ``[start, end)`` of each page with text."""
    starts = [mark for mark in document.marks if mark.page is not None]
    ends = [*(mark.start for mark in starts[1:]), len(document.text)]
    return {mark.page: (mark.start, end) for mark, end in zip(starts, ends, strict=True) if mark.page is not None}
