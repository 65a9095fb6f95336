"""The OpenAI-compatible API: models, chat completions and text completions (see `schemas.py`)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from wim_edge.errors import InvalidRequestError, ModelNotFoundError
from wim_edge.reading import events
from wim_edge.runtime import Runtime
from wim_edge.server.dependencies import BUSY, ERRORS, Served, Service, error_response, follow_while_connected
from wim_edge.server.job_queue import Job
from wim_edge.server.models import catalog_facts
from wim_edge.server.openai.embeddings import embedding_name
from wim_edge.server.openai.routing import MessagePart, MessageTurn, RoutedRequest, as_request, file_part
from wim_edge.server.openai.schemas import (
    DEFAULT,
    ChatMessage,
    ChatRequest,
    CompletionReply,
    CompletionRequest,
    ContentPart,
    TextRequest,
)
from wim_edge.settings import Settings

_MAX_FILES = 64
router = APIRouter(prefix="/v1", tags=["openai"], responses=ERRORS)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The completion; with `stream`, chunks as Server-Sent Events.",
          "content": {"application/json": {}, "text/event-stream": {}}},
}  # fmt: skip


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
    """Returns a model on this disk."""
    found = next((card for card in _cards(served.settings) if card.id == name), None)
    if found is None:
        raise ModelNotFoundError(f"{name} is not on this disk", "GET /v1/models lists those that are.")
    return found


def _cards(settings: Settings) -> list[ModelCard]:
    own = embedding_name(settings)
    cards = [ModelCard(id=one["name"], embeds=one["embeds"]) for one in catalog_facts()
             if one["path"] and one["name"] != own]  # fmt: skip
    return [ModelCard(id=DEFAULT), *cards, *([ModelCard(id=own, embeds=True)] if own else [])]


@router.post("/chat/completions", response_model=None, responses=BUSY | _STREAM)
async def chat_completions(served: Served, request: Request, asked: ChatRequest) -> Response:
    """Completes a chat. Files and long texts are read as documents, with margins; the rest goes straight to the
    model."""
    turns = await run_in_threadpool(_turns, served, asked.messages)
    schema = asked.response_format.schema_of_answer() if asked.response_format else None

    def begin(runtime: Runtime) -> Iterator[events.Event]:
        tokenize = runtime.roles().reader.model().tokenize  # the writer may not be needed
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
        return _with_notes(runtime.stream(found.documents, found.question, after=found.after), found)

    return await _answer(served, request, asked, begin, chat=True)


@router.post("/completions", response_model=None, responses=BUSY | _STREAM)
async def completions(served: Served, request: Request, asked: TextRequest) -> Response:
    """Completes a text, or several, each with its index: the model goes straight on from the prompt."""

    def begin(runtime: Runtime) -> Iterator[events.Event]:
        return runtime.complete(*asked.texts, top_logprobs=asked.top)

    return await _answer(served, request, asked, begin, chat=False)


def _with_notes(found: Iterator[events.Event], asked: RoutedRequest) -> Iterator[events.Event]:
    """Yields the events, with how the question was understood and what the model does not see."""
    with closing(found):  # type: ignore[type-var]
        if asked.why:
            yield events.QuestionSettled(asked.question, asked.question, asked.why)
        for event in found:
            yield event
            if asked.left_out and isinstance(event, events.ReadingStarted):
                yield events.Warning(f"{asked.left_out} other short messages are not shown to the model, which reads")


async def _answer(
    served: Service, request: Request, asked: CompletionRequest, begin: Callable[[Runtime], Iterator[events.Event]],
    *, chat: bool
) -> Response:
    job = served.queue.submit(Job(begin, await run_in_threadpool(served.settings_for, asked.options())))
    reply = CompletionReply(chat, asked.model, asked.return_progress)
    if asked.stream:
        return StreamingResponse(_stream(served, job, reply, asked.with_usage), media_type="text/event-stream")
    async for event in follow_while_connected(served, request, job):
        reply.chunks(event, job.model)
    return JSONResponse(reply.whole()) if reply.error is None else error_response(reply.error)


async def _stream(served: Service, job: Job, reply: CompletionReply, with_usage: bool) -> AsyncIterator[str]:
    try:
        async for _, event in job.follow():
            for chunk in reply.chunks(event, job.model):
                yield f"data: {json.dumps(chunk)}\n\n"
        if with_usage and reply.error is None:
            yield f"data: {json.dumps(reply.usage_chunk())}\n\n"
        yield "data: [DONE]\n\n"
    finally:
        served.queue.cancel(job)


def _turns(served: Service, messages: list[ChatMessage]) -> list[MessageTurn]:
    """Returns the messages as turns. Raises InvalidRequestError, DocumentError, LibraryError."""
    n_files = sum(part.file is not None for message in messages for part in message.parts)
    if n_files > _MAX_FILES:
        raise InvalidRequestError(f"{n_files:,} files in one request", f"{_MAX_FILES} at most.")
    load = cache(partial(file_part, served.store))  # each file once

    def read(part: ContentPart) -> MessagePart:
        if part.type in ("text", "refusal"):
            return MessagePart(part.text or part.refusal)
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
