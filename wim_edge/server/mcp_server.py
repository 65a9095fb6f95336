"""The Model Context Protocol on standard input and output: documents of named folders as tools of an assistant.

    ask_document    read a document, answer from it; margins come as progress
    read_document   read ahead
    list_files      the files of the folders
    list_readings   the documents that are read already

One request is served at a time; one that is given up is cancelled within a batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

import wim_edge
from wim_edge.documents import Document
from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.errors import WimEdgeError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.runtime import Runtime
from wim_edge.server.job_queue import Job, JobQueue
from wim_edge.server.uploads import Uploads
from wim_edge.settings import Settings
from wim_edge.wim.events import Event

_FILE = "its path, or its path in one of the folders. list_files lists those there are."
File = Annotated[str, Field(description=f"A {ANY_OF_THEM} file: {_FILE}")]
_ABOUT = """Answers questions of long documents with a small model on this machine. Files of these folders: {folders}.
Reading takes minutes the first time, much less afterwards. Sources give page and characters, and a word for word
quotation where there is one; prefer what they quote to the answer's own words. Where the status is not_found, the
document does not seem to answer."""


class SourceView(BaseModel):
    page: int | None
    section: str | None
    characters: tuple[int, int] = Field(description="[start, end) of the document's text.")
    relevance: float = Field(description="0 to 1.")
    quotation: str = Field(description="What the document says there; empty where none was taken.")


class QuoteView(BaseModel):
    text: str = Field(description="A whole sentence, row of a table or item of a list.")
    page: int | None
    section: str | None
    characters: tuple[int, int] = Field(description="[start, end) of the document's text.")
    header: str = Field(description="Of a row of a table, the row that heads it.")


class AnswerView(BaseModel):
    answer: str = Field(description="The short answer with its quotation, or the model's own words.")
    status: Literal["answered", "unsure", "not_found"] = Field(
        description="not_found: the document does not seem to say, and the quotations are what comes nearest."
    )
    short: str = Field(description="The answer in a few words; empty where there is none.")
    span: tuple[int, int] | None = Field(description="Where it stands, as characters of the document's text.")
    quotes: list[QuoteView] = Field(description="What carries the answer, the best first.")
    support: float | None = Field(description="How likely the document holds an answer, 0 to 1; null: not known.")
    unsupported: list[str] = Field(description="Values of the answer that stand in no passage: do not rely on them.")
    finish_reason: str = Field(description="stop, length, repeated (ended where the model repeated itself), or "
                                           "early_exit (not everything was read).")  # fmt: skip
    model: str
    read_segments: int
    segments: int = Field(description="Of the document; where fewer were read, the most promising ones were.")
    unread_probability: float | None = Field(description="That one of the others answers better; null: not known.")
    sources: list[SourceView]


class ReadView(BaseModel):
    tokens: int
    kept_tokens: int = Field(description="That need not be read again.")


class KeptView(BaseModel):
    title: str
    model: str
    tokens: int
    of_tokens: int


def make_server(
    settings: Settings, folders: Sequence[Path], *, open_runtime: Callable[[Settings], Runtime] = Runtime
) -> MCPServer:
    """Returns the server; its ``run()`` serves standard input and output. Raises LibraryError."""
    store = Uploads(folders, settings)
    queue: list[JobQueue] = []

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncIterator[None]:
        queue.append(JobQueue(settings, open_runtime=open_runtime))
        try:
            yield
        finally:
            await asyncio.to_thread(queue.pop().close)

    about = _ABOUT.format(folders=", ".join(map(str, store.folders.paths)))
    server = MCPServer("wim-edge", instructions=about, version=wim_edge.__version__, lifespan=lifespan)

    async def document(path: str) -> Document:
        try:
            kept, _ = await asyncio.to_thread(store.name, path)
        except WimEdgeError as error:
            raise _failure(str(error), error.hint) from error
        return kept.document

    @server.tool()
    async def ask_document(path: File, question: str, ctx: Context) -> AnswerView:
        """Reads a document, or the parts not read before, and answers a question from it, with sources."""
        found = await document(path)
        last = await _done(queue[0], settings, lambda runtime: runtime.stream(found, question), ctx)
        return _answer_view(last)

    @server.tool()
    async def read_document(path: File, ctx: Context) -> ReadView:
        """Reads a document ahead, so that questions about it need not wait."""
        found = await document(path)
        last = await _done(queue[0], settings, lambda runtime: runtime.read(found), ctx)
        return ReadView(tokens=last["tokens"], kept_tokens=last["saved_tokens"])

    @server.tool()
    async def list_files() -> list[str]:
        """Lists the files that can be asked about, the first thousand of them."""
        return await asyncio.to_thread(store.folders.files)

    @server.tool()
    async def list_readings() -> list[KeptView]:
        """Lists the documents that are read already, wholly or in part."""
        try:
            readings = await asyncio.to_thread(lambda: ReadingStore.of(settings).readings())
        except (*FAILURES, WimEdgeError) as error:
            raise _failure(f"the readings cannot be listed: {error}", "Try again.") from error
        return [KeptView(title=r.title, model=r.model, tokens=r.tokens, of_tokens=r.of_tokens) for r in readings]

    return server


def _answer_view(last: dict[str, Any]) -> AnswerView:
    """Returns an answer as an assistant is told it, from the last event."""
    sources = [
        SourceView(page=one["page"], section=one["section"], characters=one["quote"] or one["chars"],
                   relevance=one["relevance"],
                   quotation=one["margin"] if one["quote"] else "")
        for one in last["sources"]
    ]  # fmt: skip
    quotes = [QuoteView(**one, characters=one["chars"]) for one in last["quotes"]]
    made = ("sources", "quotes")
    same = {name: last[name] for name in AnswerView.model_fields if name in last and name not in made}
    return AnswerView(answer=last["text"], sources=sources, quotes=quotes, **same)


async def _done(
    queue: JobQueue, settings: Settings, begin: Callable[[Runtime], Iterator[Event]], ctx: Context
) -> dict[str, Any]:
    """Runs a job and returns its last event; what happens until then is told as progress. Raises ToolError."""
    job = Job(begin, settings)
    try:
        queue.submit(job)
    except WimEdgeError as error:
        raise _failure(str(error), error.hint) from error
    at, of = 0, 0
    try:
        async for _, event in job.follow():
            match event["type"]:
                case "reading.progress":
                    at, of = event["tokens"], event["of"]
                    await ctx.report_progress(at, of, f"{at:,} of {of:,} tokens")
                case "margin.judged" if event["relevant"] and event["text"]:
                    await ctx.report_progress(at, of or None, f"margin: {' '.join(event['text'].split())}")
                case "error":
                    raise _failure(event["message"], event["hint"])
    finally:
        queue.cancel(job)
    last = job.events[-1]
    if last.get("finish_reason") == "cancelled":
        raise _failure("cancelled", "Ask again.")
    return last


def _failure(message: str, hint: str) -> ToolError:
    return ToolError(f"{message}. {hint}".strip())
