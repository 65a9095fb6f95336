"""The OpenAPI description, completed: the events of streams, the form of errors, and an example of everything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from wim_edge.server.job_queue import Failed, Queued
from wim_edge.server.models import PullFinished, PullProgress
from wim_edge.wim.events import (
    EVENTS,
    AnswerDelta,
    AnswerFinished,
    Event,
    MarginJudged,
    Quote,
    ReadingProgress,
    ReadingStarted,
    SegmentRead,
    Source,
    Usage,
)

_REF = "#/components/schemas/{model}"
_ID = "5f0c8a1e9d3b4c7fa2e6b8d0c1f3a597"
_PROMPT = {"model": "default", "max_tokens": 64, "seed": 1}
_COMPLETION = {"id": f"chatcmpl-{_ID}", "object": "chat.completion", "created": 1767225600, "model": "smollm2-135m"}
_USAGE = {"prompt_tokens": 37, "completion_tokens": 8, "total_tokens": 45,
          "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip
_DOCUMENT = {"id": 1, "name": "Contract of lease", "file": "contract.pdf", "title": "Contract of lease",
             "chars": 48211, "pages": 12}  # fmt: skip

SHAPES: dict[str, dict[str, Any]] = {
    "AskRequest": {"documents": [1], "question": "Who may end the contract?", "options": {"pattern": "wim"}},
    "ReadRequest": {"documents": [1], "options": {}},
    "AskOptions": {"model": "smollm2-135m", "pattern": "wim", "max_passages": 2, "answer_tokens": 128},
    "AddFileRequest": {"path": "/home/me/papers/contract.pdf"},
    "VerdictRequest": {"accepted": False},
    "DocumentSummary": _DOCUMENT,
    "DocumentCreated": {**_DOCUMENT, "notes": ["page 7 has no text layer"]},
    "DocumentDetail": {**_DOCUMENT, "text": "Contract of lease\n...",
                       "marks": [{"start": 0, "page": 1, "section": None}]},
    "MarkView": {"start": 0, "page": 1, "section": None},
    "QuestionView": {
        "id": _ID, "documents": [1], "question": "Who may end the contract?",
        "asked_as": "Who may end the contract?", "options": {"pattern": "wim"},
        "asked": 1767225600.0, "state": "done", "answer": "either party\n\n“may be ended by either party with "
        "three months' notice” (page 4)", "status": "answered", "short": "either party", "support": 0.93,
        "judged": {"4": False}, "events": 118,
    },
    "Status": {
        "model": "smollm2-135m", "waiting": 0, "read_on": False, "memory_bytes": 412000000,
        "memory_free_bytes": 5100000000, "cpu_cores": 4, "folders": ["/home/me/papers"],
        "patterns": ["llm", "wim"], "relevances": ["verdict"], "margins": ["quote"], "choosers": ["hybrid"],
        "settings": {"pattern": {"value": "wim-shallow", "origin": "models.toml"}},
    },
    "ExplainedSetting": {"value": "wim-shallow", "origin": "models.toml"},
    "ModelView": {
        "name": "smollm2-135m", "description": "The embedded default", "licence": "Apache-2.0", "parameters": "135M",
        "context": 8192, "bytes": 98000000, "memory_bytes": 420000000, "fits": True, "here": True, "loaded": True,
    },
    "ReadingView": {
        "id": 3, "title": "Contract of lease", "model": "smollm2-135m", "shape": "deep", "tokens": 11200,
        "of_tokens": 11200, "bytes": 516000000,
    },
    "ErrorBody": {"error": {"type": "LibraryError", "message": "there is no document 7",
                            "hint": "GET /api/documents lists those there are."}},
    "ModelCard": {"id": "smollm2-135m", "object": "model", "created": 0, "owned_by": "wim-edge"},
    "ModelList": {"object": "list", "data": [
        {"id": "smollm2-135m", "object": "model", "created": 0, "owned_by": "wim-edge"}
    ]},
    "ChatRequest": {**_PROMPT, "messages": [{"role": "user", "content": "What is the capital of France?"}]},
    "TextRequest": {**_PROMPT, "prompt": "Once upon a time"},
}  # fmt: skip
"""An example of each shape, all of one story."""

_COMPLETIONS = {
    "/v1/chat/completions": {**_COMPLETION, "usage": _USAGE, "choices": [{
        "index": 0, "finish_reason": "stop", "logprobs": None,
        "message": {"role": "assistant", "content": "The capital of France is Paris.", "refusal": None}}]},
    "/v1/completions": {**_COMPLETION, "object": "text_completion", "usage": _USAGE, "choices": [{
        "index": 0, "finish_reason": "stop", "logprobs": None, "text": ", there was a ferry."}]},
}  # fmt: skip
_CHUNKS = {
    "/v1/chat/completions": {**_COMPLETION, "object": "chat.completion.chunk", "choices": [{
        "index": 0, "finish_reason": None, "logprobs": None, "delta": {"role": "assistant", "content": "The"}}]},
    "/v1/completions": {**_COMPLETION, "object": "text_completion", "choices": [{
        "index": 0, "finish_reason": None, "logprobs": None, "text": ", there"}]},
}  # fmt: skip

_QUOTE = "may be ended by either party with three months' notice"
_ANSWER = f"either party\n\n“{_QUOTE}” (page 4)"
_PLACE = ("contract.pdf", 4, "Term", (9120, 11002))
_READ: tuple[Event, ...] = (
    Queued(0),
    ReadingStarted("smollm2-135m", "wim", ("contract.pdf",), 24, 11200, 8192, 2, "cascade"),
    ReadingProgress(512, 11200),
    SegmentRead(4, 24, *_PLACE, 467),
    MarginJudged(4, *_PLACE, _QUOTE, (9304, 9358), 0.91, True),
)
_STREAMS: dict[str, tuple[Event, ...]] = {
    "/api/ask": (
        *_READ, AnswerDelta(_ANSWER),
        AnswerFinished(_ANSWER, "stop", "wim", "smollm2-135m", (Source(4, *_PLACE, 0.91, _QUOTE, (9304, 9358)),),
                       Usage(11200, 0, 162, {"total": 41.7}, 420000000), status="answered", short="either party",
                       span=(9320, 9332), quotes=(Quote(_QUOTE, *_PLACE[:3], (9304, 9358)),), support=0.93),
    ),
    "/api/read": _READ[:4],
    "/api/questions/{number}/events": _READ,
    "/api/models/{name}/pull": (PullProgress(52428800, 98000000), PullFinished("smollm2-135m")),
}  # fmt: skip


def described(app: FastAPI) -> dict[str, Any]:
    """The description of an application's routes."""
    found = FastAPI.openapi(app)
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):  # ours have another form
        schemas.pop(unused, None)
    schemas |= _events()
    for name, example in SHAPES.items():
        schemas[name]["examples"] = [example]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _complete(path, operation["responses"])
    return found


def _complete(path: str, responses: dict[str, Any]) -> None:
    """What the framework leaves out, or says of its own errors instead of ours."""
    for status, response in responses.items():
        if status >= "400":
            response["content"] = {"application/json": {"schema": {"$ref": _REF.format(model="ErrorBody")}}}
    streamed = responses.get("200", {}).get("content", {})
    if path in _STREAMS:
        event = {"type": "string", "contentMediaType": "application/json",
                 "contentSchema": {"$ref": _REF.format(model="Event")}}  # fmt: skip
        streamed["text/event-stream"]["itemSchema"]["properties"]["data"] = event
        streamed["text/event-stream"]["example"] = _as_text(_STREAMS[path])
    if path in _COMPLETIONS:
        streamed["application/json"] = {"schema": {"type": "object"}, "example": _COMPLETIONS[path]}
        chunk = json.dumps(_CHUNKS[path])
        item = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
        streamed["text/event-stream"] = {"itemSchema": item, "example": f"data: {chunk}\n\ndata: [DONE]\n\n"}


def _events() -> dict[str, Any]:
    """Schemas of what streams tell, each under its class's name, and of any of them as Event."""
    kinds: Iterable[type[Event]] = (*EVENTS, Queued, Failed, PullProgress, PullFinished)
    schemas: dict[str, Any] = {}
    names: dict[str, str] = {}
    for kind in kinds:
        schema = TypeAdapter(kind).json_schema(ref_template=_REF, mode="serialization")
        schemas |= schema.pop("$defs", {})
        schema["properties"] = {"type": {"const": kind.type}, **schema["properties"]}
        schema["required"] = ["type", *schema.get("required", ())]
        schemas[kind.__name__] = schema
        names[kind.type] = _REF.format(model=kind.__name__)
    return schemas | {
        "Event": {
            "description": "What is told of a reading; docs/events.md describes each. Pass over types not known here.",
            "oneOf": [{"$ref": name} for name in names.values()],
            "discriminator": {"propertyName": "type", "mapping": names},
        }
    }


def _as_text(told: Iterable[Event]) -> str:
    return "".join(
        f"id: {number}\nevent: {event.type}\ndata: {event.to_json()}\n\n" for number, event in enumerate(told)
    )
