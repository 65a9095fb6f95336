"""A Model Context Protocol (MCP) server. An assistant can use its tools to ask about files of folders and libraries.

One request runs at a time. A request that the assistant cancels stops after the current batch of tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

import wim_edge
from wim_edge import errors
from wim_edge.documents import Document
from wim_edge.documents.document import well_formed
from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.errors import EngineError, LibraryError, WimEdgeError
from wim_edge.library import FAILURES, ReadingStore
from wim_edge.library.library import Library
from wim_edge.reading.events import AnswerStatus, Event
from wim_edge.runtime import Runtime
from wim_edge.server.job_queue import Job, JobQueue
from wim_edge.server.uploads import AllowedFolders, Uploads
from wim_edge.settings import Settings

_FILE = "its path, or its path in one of the folders. list_files lists them."
File = Annotated[str, Field(description=f"A {ANY_OF_THEM} file: {_FILE}")]
Name = Annotated[str, Field(description="The name of a library. list_libraries lists them.")]
_MAX_DOCUMENTS = 1000  # in a list
_PART = 20_000
"""The most characters that `get_text` returns."""
_ABOUT = """Answers questions about long documents with a small model on this machine.
Files of these folders: {folders}. Libraries of documents: {libraries}.
The first reading takes minutes, later ones much less. Sources give page and characters, and a verbatim quotation if
there is one; prefer the quotations to the answer's own words. With the status not_found, the document does not seem to
answer."""


class Placed(BaseModel):
    page: int | None
    section: str | None
    characters: tuple[int, int] = Field(description="[start, end) of the document's text.")


class Cited(Placed):
    document: str


class SourceView(Cited):
    opens: str | None = Field(description="The reference that opens its file at the place, for a person.")
    relevance: float = Field(description="0 to 1.")
    quotation: str = Field(description="The words of the document there, or empty.")


class QuoteView(Cited):
    text: str = Field(description="A whole sentence, row of a table or item of a list.")
    header: str = Field(description="For a row of a table, its header row.")


class AnswerView(BaseModel):
    answer: str = Field(description="The short answer with its quotation, or the model's own words.")
    status: AnswerStatus = Field(
        description="not_found: the document does not seem to answer; the quotations are the nearest ones."
    )
    short: str = Field(description="The answer in a few words, or empty.")
    span: tuple[int, int] | None = Field(description="Its characters in the document's text.")
    quotes: list[QuoteView] = Field(description="The quotations that carry the answer, the best first.")
    support: float | None = Field(description="The probability that the document answers, 0 to 1; null: not known.")
    unsupported: list[str] = Field(description="Values of the answer that no passage contains: do not rely on them.")
    finish_reason: str = Field(description="stop, length, repeated (the model repeated itself), or early_exit (not "
                                           "everything was read).")  # fmt: skip
    model: str
    judge: str | None = Field(description="The model that judged which passages answer, if it is another one.")
    read_segments: int
    segments: int = Field(description="Of the document; if fewer were read, the most promising ones were.")
    unread_probability: float | None = Field(description="That an unread one answers better; null: not known.")
    sources: list[SourceView]


class ReadView(BaseModel):
    tokens: int
    kept_tokens: int = Field(description="The tokens that need not be read again.")


class PassageView(Cited):
    title: str
    text: str
    score: float = Field(description="How well it suits the question, compared with the other passages.")


class TextView(Placed):
    text: str
    of: int = Field(description="The characters of the whole text; if there are more, ask for the next start.")


class AllowedLibrary(BaseModel):
    name: str
    documents: int


class LibraryDocument(BaseModel):
    name: str
    path: str
    characters: int


class KeptView(BaseModel):
    title: str
    model: str
    tokens: int
    of_tokens: int


class AssistantTools:
    """The MCP tools, one per method. An assistant may read only files in ``folders`` and these ``libraries``. Raises
    LibraryError for a library that does not exist, InvalidRequestError for an invalid library name."""

    def __init__(self, settings: Settings, folders: Sequence[Path], libraries: Sequence[str]) -> None:
        self._settings = settings
        self._store = Uploads(AllowedFolders(folders), settings)
        self._libraries = {name: Library(name) for name in libraries}
        self._queue: JobQueue | None = None
        self.about = _ABOUT.format(
            folders=", ".join(self._store.folders.paths) or "none", libraries=", ".join(libraries) or "none"
        )

    @asynccontextmanager
    async def lifespan(self, _server: MCPServer) -> AsyncIterator[None]:
        self._queue = queue = JobQueue(self._settings)
        try:
            yield
        finally:
            await asyncio.to_thread(queue.close)

    async def ask_document(self, path: File, question: str, ctx: Context) -> AnswerView:
        """Reads a document (only parts that were not read before), and answers a question from it, with sources."""
        found = await self._file(path)
        return _answer_view(await self._run(lambda runtime: runtime.stream(found, question), ctx))

    async def ask_library(self, library: Name, question: str, ctx: Context) -> AnswerView:
        """Recalls passages of a library, reads them, and answers a question from them, with sources."""
        name = self._allowed(library).name
        return _answer_view(await self._run(lambda runtime: runtime.stream((), question, library=name), ctx))

    async def find_passages(self, library: Name, question: str, ctx: Context) -> list[PassageView]:
        """Finds the passages of a library that may answer a question, the best first. Writes no answer."""
        name = self._allowed(library).name
        last = await self._run(lambda runtime: runtime.recall(name, question), ctx)
        return [PassageView(**one, characters=one["chars"]) for one in last["passages"]]

    async def get_text(
        self, path: Annotated[str, Field(description=f"{_FILE} With a library, the name of its document.")],
        library: str | None = None,
        start: Annotated[int, Field(ge=0, description="The first character.")] = 0,
        characters: Annotated[int, Field(ge=1, le=_PART)] = _PART,
    ) -> TextView:  # fmt: skip
        """Returns a document's text, or part of it. `characters` of sources and quotations are offsets in this text."""
        document = await (self._file(path) if library is None else self._kept(library, path))
        end = min(start + characters, len(document.text))
        place = document.place(min(start, end), end)
        return TextView(text=document.text[start:end], characters=(min(start, end), end), of=len(document.text),
                        page=place.page, section=place.section)  # fmt: skip

    async def read_document(self, path: File, ctx: Context) -> ReadView:
        """Reads a document ahead, so that later questions about the document are answered sooner."""
        found = await self._file(path)
        last = await self._run(lambda runtime: runtime.read(found), ctx)
        return ReadView(tokens=last["tokens"], kept_tokens=last["saved_tokens"])

    async def list_files(
        self, folder: Annotated[str, Field(description="A folder in them, to list its files alone.")] = ""
    ) -> list[str]:
        """Lists the paths of at most 1,000 files that can be asked about."""
        return [file.path for file in await asyncio.to_thread(self._store.folders.files, folder)]

    async def list_libraries(self) -> list[AllowedLibrary]:
        """Lists the libraries that can be asked about, each with its number of documents."""
        sizes = {name: await asyncio.to_thread(len, one) for name, one in self._libraries.items()}
        return [AllowedLibrary(name=name, documents=size) for name, size in sizes.items()]

    async def list_documents(self, library: Name) -> list[LibraryDocument]:
        """Lists the documents of a library, at most a thousand."""
        found = await asyncio.to_thread(self._allowed(library).entries)
        return [LibraryDocument(name=one.name, path=one.path, characters=one.chars) for one in found[:_MAX_DOCUMENTS]]

    async def list_readings(self) -> list[KeptView]:
        """Lists the saved readings: documents that were read, wholly or in part."""
        found = await asyncio.to_thread(lambda: ReadingStore.of(self._settings).index.readings())
        return [KeptView.model_validate(one, from_attributes=True) for one in found]

    # Access to documents, and the work on the model

    async def _file(self, path: str) -> Document:
        return (await asyncio.to_thread(self._store.name, path))[0].document

    async def _kept(self, library: str, name: str) -> Document:
        found = await asyncio.to_thread(self._allowed(library).find, name)
        if found is None:
            raise LibraryError(f"library {library} has no document {name}", "list_documents lists them.")
        return found.document

    def _allowed(self, library: str) -> Library:
        if library not in self._libraries:
            allowed = ", ".join(self._libraries) or "none"
            raise LibraryError("this library may not be asked", f"Libraries: {allowed}.")
        return self._libraries[library]

    async def _run(self, begin: Callable[[Runtime], Iterator[Event]], ctx: Context) -> dict[str, Any]:
        """Runs ``begin`` on the model, reports progress to the assistant, and returns the last event."""
        assert self._queue is not None  # the server is running
        at, of = 0, None
        async with aclosing(self._queue.follow(self._queue.submit(Job(begin, self._settings)))) as found:
            async for event in found:
                match event["type"]:
                    case "reading.progress":
                        at, of = event["tokens"], event["of"]
                        await ctx.report_progress(at, of, f"{at:,} of {of:,} tokens")
                    case "margin.judged" if event["relevant"] and event["text"]:
                        await ctx.report_progress(at, of, f"margin: {' '.join(event['text'].split())}")
                    case "answer.provisional":
                        await ctx.report_progress(at, of, f"so far: {event['short']}")
                    case "error":
                        raise errors.from_dict(event)
        if event.get("finish_reason") == "cancelled":
            raise EngineError("cancelled", "Ask again.")
        return event


def make_server(settings: Settings, folders: Sequence[Path], libraries: Sequence[str] = ()) -> MCPServer:
    """Returns an MCP server; ``run()`` serves standard input and output. Raises LibraryError, InvalidRequestError."""
    tools = AssistantTools(settings, folders, libraries)
    server = MCPServer("wim-edge", instructions=tools.about, version=wim_edge.__version__, lifespan=tools.lifespan)
    of_libraries = ("ask_library", "find_passages", "list_libraries", "list_documents") if libraries else ()
    for name in ("ask_document", "get_text", "read_document", "list_files", "list_readings", *of_libraries):
        server.add_tool(_telling_errors(getattr(tools, name)))
    return server


def _telling_errors(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Returns the tool, which then tells the assistant the errors of wim-edge and of the disk (`ToolError`)."""

    @wraps(tool)
    async def told(*given: Any, **named: Any) -> Any:
        try:
            return await tool(*given, **named)
        except WimEdgeError as error:
            raise ToolError(well_formed(f"{error}. {error.hint}".strip())) from error
        except FAILURES as error:
            raise ToolError(well_formed(f"the libraries cannot be read: {error}. Try again.")) from error

    return told


def _answer_view(last: dict[str, Any]) -> AnswerView:
    """Converts the event `answer.finished` (as a JSON object) to an answer for an assistant."""
    sources = [
        SourceView(**one, characters=one["quote"] or one["chars"], quotation=one["margin"] if one["quote"] else "")
        for one in last["sources"]
    ]
    quotes = [QuoteView(**one, characters=one["chars"]) for one in last["quotes"]]
    return AnswerView(**{**last, "sources": sources, "quotes": quotes}, answer=last["text"])
