"""The OpenAI-compatible API: models, chat completions, text completions (see `schemas.py`) and embeddings."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from wim_edge import catalog
from wim_edge.catalog import Catalog
from wim_edge.documents import Document
from wim_edge.engine.gguf import is_embedding_model
from wim_edge.errors import InvalidRequestError, ModelNotFoundError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading import events
from wim_edge.runtime import Runtime
from wim_edge.server.dependencies import BUSY, ERRORS, Served, Service, StrictModel, error_response
from wim_edge.server.job_queue import Job
from wim_edge.server.machine import catalog_facts
from wim_edge.server.openai import schemas
from wim_edge.server.openai.routing import MessageTurn, RoutedRequest, as_request, file_part
from wim_edge.settings import Settings

_MAX_FILES = 64
router = APIRouter(prefix="/v1", tags=["openai"], responses=ERRORS)
_CHUNK = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The completion; with `stream`, chunks as Server-Sent Events.",
          "content": {"application/json": {"schema": {"type": "object"}}, "text/event-stream": {"itemSchema": _CHUNK}}},
}  # fmt: skip
MAX_INPUTS = 2048
MAX_CHARACTERS, MAX_TOKENS = 32_768, 8192
"""The most characters (of a text) or tokens (of a list of tokens) in one input to embed."""
_EACH = f"{MAX_CHARACTERS:,} characters or {MAX_TOKENS:,} tokens"
_MAX_TOGETHER = 32  # times as much in all inputs together, which takes minutes on a small machine
_Tokens = Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(fail_fast=True)]
_Several = Annotated[list[str], Field(fail_fast=True)] | _Tokens | Annotated[list[_Tokens], Field(fail_fast=True)]


class ModelCard(BaseModel):
    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "wim-edge"
    embeds: bool = Field(default=False, description="True for an embedding model, for /v1/embeddings alone.")


class ModelList(BaseModel):
    object: str = "list"
    data: list[ModelCard]


@router.get("/models")
def list_models(served: Served) -> ModelList:
    """Lists the models on this disk, and `default`: the one that the server was started with."""
    return ModelList(data=_cards(served.settings))


@router.get("/models/{name}")
def get_model(served: Served, name: str) -> ModelCard:
    """Returns a model by name. The model must be on this disk."""
    found = next((card for card in _cards(served.settings) if card.id == name), None)
    if found is None:
        raise ModelNotFoundError(f"{name} is not on this disk", "GET /v1/models lists those that are.")
    return found


def _cards(settings: Settings) -> list[ModelCard]:
    own = _embedding_name(settings)
    cards = [ModelCard(id=one["name"], embeds=one["embeds"]) for one in catalog_facts()
             if one["path"] and one["name"] != own]  # fmt: skip
    return [ModelCard(id=schemas.DEFAULT), *cards, *([ModelCard(id=own, embeds=True)] if own else [])]


@router.post("/chat/completions", response_model=None, responses=BUSY | _STREAM)
async def chat_completions(served: Served, request: Request, asked: schemas.ChatRequest) -> Response:
    """Answers a chat. Reads files and long texts in its messages as documents, and writes margins. Sends the messages
    of a chat without documents straight to the model."""
    turns = await run_in_threadpool(_turns, served, asked.messages)
    schema = asked.response_format.schema_of_answer() if asked.response_format else None

    def begin(runtime: Runtime) -> Iterator[events.Event]:
        tokenize = runtime.roles().reader.model().tokenize  # not the writer's, which may not be needed
        own = asked.wim_edge
        found = as_request(turns, lambda text: len(tokenize(text)), read=own.read, question=own.question)
        if not found.documents:
            return runtime.complete(found.messages, top_logprobs=asked.top, schema=schema)
        if asked.logprobs or schema is not None:
            what = "logprobs" if schema is None else "response_format"
            raise InvalidRequestError(
                f"there is no {what} where documents are read", f"Leave {what} out, or send a text with "
                '"wim_edge": {"read": false}: it then goes straight to the model.',
            )  # fmt: skip
        return _with_notes(runtime.stream(found.documents, found.asked.question, after=found.after), found)

    return await _answer(served, request, asked, begin, chat=True)


@router.post("/completions", response_model=None, responses=BUSY | _STREAM)
async def completions(served: Served, request: Request, asked: schemas.TextRequest) -> Response:
    """Continues one or several prompts. The choice with index N continues prompt N."""

    def begin(runtime: Runtime) -> Iterator[events.Event]:
        texts = [asked.prompt] if isinstance(asked.prompt, str) else asked.prompt
        return runtime.complete(*texts, top_logprobs=asked.top)

    return await _answer(served, request, asked, begin, chat=False)


def _with_notes(found: Iterator[events.Event], routed: RoutedRequest) -> Iterator[events.Event]:
    """Yields `QuestionSettled` for an unsure question, then the events of ``found``. Warns of unread messages."""
    with closing(found):  # type: ignore[type-var]
        if why := routed.asked.why:
            yield events.QuestionSettled(routed.asked.question, routed.asked.question, why)
        for event in found:
            yield event
            if routed.left_out and isinstance(event, events.ReadingStarted):
                yield events.Warning(f"{routed.left_out} other short messages are not shown to the model, which reads")


async def _answer(
    served: Service, request: Request, asked: schemas.CompletionRequest,
    begin: Callable[[Runtime], Iterator[events.Event]], *, chat: bool,
) -> Response:  # fmt: skip
    job = served.queue.submit(Job(begin, await run_in_threadpool(served.settings_for, asked.options())))
    reply = schemas.CompletionReply(chat, asked.model, asked.return_progress)
    if asked.stream:
        with_usage = bool((asked.stream_options or {}).get("include_usage"))
        return StreamingResponse(_stream(served, job, reply, with_usage), media_type="text/event-stream")
    async for event in served.follow(request, job):
        reply.chunks(event, job.model)
    return JSONResponse(reply.whole()) if reply.error is None else error_response(reply.error)


async def _stream(served: Service, job: Job, reply: schemas.CompletionReply, with_usage: bool) -> AsyncIterator[str]:
    async with aclosing(served.queue.follow(job)) as found:
        async for event in found:
            for chunk in reply.chunks(event, job.model):
                yield f"data: {json.dumps(chunk)}\n\n"
    if with_usage and reply.error is None:
        yield f"data: {json.dumps(reply.usage_chunk())}\n\n"
    yield "data: [DONE]\n\n"


def _turns(served: Service, messages: list[schemas.ChatMessage]) -> list[MessageTurn]:
    """Converts messages to turns, and loads their files. Raises InvalidRequestError, DocumentError, LibraryError."""
    n_files = sum(part.file is not None for message in messages for part in message.parts)
    if n_files > _MAX_FILES:
        raise InvalidRequestError(f"{n_files:,} files in one request", f"{_MAX_FILES} at most.")
    load = cache(partial(file_part, served.store))  # each file once

    def read(part: schemas.ContentPart) -> str | Document:
        if part.type in ("text", "refusal"):
            return part.text or part.refusal
        if part.type != "file":
            raise InvalidRequestError(
                f"a part of type {part.type}: pictures and sound cannot be read in messages",
                "Send text, or a document as a part of type file.",
            )
        if part.file is None:
            raise InvalidRequestError("a part of type file holds no file", "Send file_data or file_id in it.")
        return load(part.file.filename, part.file.file_data, part.file.file_id)

    roles = {"developer": "system", "function": "tool"}
    return [MessageTurn(roles.get(one.role, one.role), tuple(map(read, one.parts))) for one in messages]


# Embeddings


class EmbeddingsRequest(StrictModel):
    input: str | _Several = Field(
        description=f"A text, tokens of the embedding model, or a list of these: at most {MAX_INPUTS:,}, each of "
        f"{_EACH}, together {_MAX_TOGETHER} times as much."
    )
    model: str = Field(default="default", max_length=200, description="`GET /v1/models` lists those that embed.")
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1, le=2**20, description="Only the model's own number.")
    user: str | None = Field(default=None, max_length=500)

    def inputs(self) -> list[str | list[int]]:
        """Returns the inputs, each a text or a list of tokens. Raises InvalidRequestError if there is none, if one is
        empty or too long, or if the inputs are too many or too long together."""
        given: Any = [self.input] if isinstance(self.input, str) or isinstance(next(iter(self.input), ""), int) \
            else self.input  # fmt: skip
        if not given or not all(given):
            raise InvalidRequestError("there is nothing to embed, or an input is empty", "Leave empty ones out.")
        if len(given) > MAX_INPUTS:
            raise InvalidRequestError(f"{len(given):,} inputs", f"{MAX_INPUTS:,} at most; send several requests.")
        shares = [len(one) / (MAX_CHARACTERS if isinstance(one, str) else MAX_TOKENS) for one in given]
        if max(shares) > 1:
            number = shares.index(max(shares))
            raise InvalidRequestError(f"input {number} has a length of {len(given[number]):,}", f"{_EACH} at most.")
        if sum(shares) > _MAX_TOGETHER:
            raise InvalidRequestError("the inputs are too long together", f"{_MAX_TOGETHER} times {_EACH} at most.")
        return given  # type: ignore[no-any-return]


class Embedding(BaseModel):
    object: Literal["embedding"]
    index: int
    embedding: list[float] | str = Field(description="A vector of length 1; base64: float32, little-endian.")


class EmbeddingList(BaseModel):
    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: dict[Literal["prompt_tokens", "total_tokens"], int]


def _embedding_name(settings: Settings) -> str | None:
    """Returns the name of the server's embedding model (a GGUF file's name without .gguf), or None without a model."""
    named = LoadedModels(settings).embedder_name
    return Path(named).stem if named and named.endswith(".gguf") else named


@router.post("/embeddings", response_model=EmbeddingList, responses=BUSY)
async def create_embeddings(served: Served, request: Request, asked: EmbeddingsRequest) -> Response:
    """Embeds texts as they are. If a model expects a prefix such as `query: `, the client must send it."""
    inputs = asked.inputs()
    name, settings = await run_in_threadpool(_settings_for, served.settings, asked.model)

    def begin(runtime: Runtime) -> Iterator[events.Event]:
        with closing(runtime.embed(inputs)) as found:  # type: ignore[type-var]
            for event in found:
                width = len(event.vector) if isinstance(event, events.TextEmbedded) else None
                if asked.dimensions not in (None, width):
                    raise InvalidRequestError(f"{name} makes vectors of {width} dimensions", "Leave dimensions out.")
                yield event

    job = served.queue.submit(Job(begin, settings))
    told = [event async for event in served.follow(request, job)]
    if told[-1]["type"] == "error":
        return error_response(told[-1])
    return await run_in_threadpool(_reply, [one for one in told if one["type"] == events.TextEmbedded.type],
                                   name, asked.encoding_format)  # fmt: skip


def _settings_for(settings: Settings, model: str) -> tuple[str, Settings]:
    """Returns (name, settings) to embed with ``model``: the server's own embedding model, or one of the catalog on this
    disk. Raises ModelNotFoundError if it is not there, InvalidRequestError if it is no embedding model."""
    own = _embedding_name(settings)
    if model in (*schemas.DEFAULTS, own):
        return own or model, settings
    entry = Catalog.load().entries.get(model)
    path = catalog.locate(entry) if entry else None
    if path is None:
        raise ModelNotFoundError(f"no embedding model of that name is on this disk: {model}",
                                 "GET /v1/models lists them.")  # fmt: skip
    if not is_embedding_model(path):
        raise InvalidRequestError(f"{model} is no embedding model", "GET /v1/models says which are (`embeds`).")
    return model, settings.with_changes(embedding_model=model)


def _reply(told: list[dict[str, Any]], model: str, form: str) -> JSONResponse:
    tokens = sum(one["tokens"] for one in told)
    vectors = [one["vector"] for one in told]
    if form == "base64":
        vectors = [base64.b64encode(np.array(vector, "<f4").tobytes()).decode() for vector in vectors]
    data = [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(vectors)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse({"object": "list", "data": data, "model": model, "usage": usage})
