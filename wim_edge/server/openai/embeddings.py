"""The route of embeddings in the OpenAI-compatible API: a vector for each text, from an embedding model."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from wim_edge import catalog
from wim_edge.catalog import Catalog
from wim_edge.engine.gguf import is_embedding_model
from wim_edge.errors import InvalidRequestError, ModelNotFoundError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading import events
from wim_edge.runtime import Runtime
from wim_edge.server.dependencies import BUSY, ERRORS, Served, StrictModel, error_response, follow_while_connected
from wim_edge.server.job_queue import Job
from wim_edge.server.openai.schemas import DEFAULTS
from wim_edge.settings import Paths, Settings

MAX_INPUTS = 2048
MAX_CHARACTERS, MAX_TOKENS = 32_768, 8192
"""The most characters, or tokens, of one input."""
_EACH = f"{MAX_CHARACTERS:,} characters or {MAX_TOKENS:,} tokens"
_MAX_TOGETHER = 32  # times as much in all inputs together: minutes on a small machine
router = APIRouter(prefix="/v1", tags=["openai"], responses=ERRORS)
_Tokens = Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(fail_fast=True)]
_Several = Annotated[list[str], Field(fail_fast=True)] | _Tokens | Annotated[list[_Tokens], Field(fail_fast=True)]


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
        """Returns the inputs, each a text or its tokens. Raises InvalidRequestError if there are too many, or one is
        too long or empty."""
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


def embedding_name(settings: Settings) -> str | None:
    """Returns the name of the server's embedding model: of a file, its stem."""
    named = LoadedModels(settings).embedder_name
    return Path(named).stem if named and named.endswith(".gguf") else named


@router.post("/embeddings", response_model=EmbeddingList, responses=BUSY)
async def create_embeddings(served: Served, request: Request, asked: EmbeddingsRequest) -> Response:
    """Embeds texts. The client sends the words that a model wants before a text (`query: `); none are added here."""
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
    told = [event async for event in follow_while_connected(served, request, job)]
    if told[-1]["type"] == "error":
        return error_response(told[-1])
    return await run_in_threadpool(_reply, [one for one in told if one["type"] == events.TextEmbedded.type],
                                   name, asked.encoding_format)  # fmt: skip


def _settings_for(settings: Settings, model: str) -> tuple[str, Settings]:
    """Returns an embedding model's name, and the server's settings with it: the server's own model, or one of the
    catalog on this disk. Raises ModelNotFoundError, InvalidRequestError."""
    own = embedding_name(settings)
    if model in (*DEFAULTS, own):
        return own or model, settings
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    path = catalog.locate(models.get(model), paths) if model in models.names() else None
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
