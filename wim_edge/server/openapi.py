"""The OpenAPI description, completed: the events of streams, and the form of errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from wim_edge.reading.events import EVENTS, Event
from wim_edge.server.job_queue import Failed, Queued
from wim_edge.server.libraries import FileSynced, SyncFinished
from wim_edge.server.models import PullFinished, PullProgress

_REF = "#/components/schemas/{model}"
_OF_EVENTS = ("/api/ask", "/api/read", "/api/questions/{number}/events", "/api/models/{name}/pull",
              "/api/libraries/{library}/sync")  # fmt: skip
_OF_CHUNKS = ("/v1/chat/completions", "/v1/completions")


def describe(app: FastAPI) -> dict[str, Any]:
    """Returns the description of an application's routes."""
    found = FastAPI.openapi(app)
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):  # ours have another form
        schemas.pop(unused, None)
    schemas |= _events()
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _complete(path, operation["responses"])
    return found


def _complete(path: str, responses: dict[str, Any]) -> None:
    """Completes the responses of a path: errors in our form, and the events or chunks of its stream."""
    for status, response in responses.items():
        if status >= "400":
            response["content"] = {"application/json": {"schema": {"$ref": _REF.format(model="ErrorBody")}}}
    streamed = responses.get("200", {}).get("content", {})
    if path in _OF_EVENTS:
        event = {"type": "string", "contentMediaType": "application/json",
                 "contentSchema": {"$ref": _REF.format(model="Event")}}  # fmt: skip
        streamed["text/event-stream"]["itemSchema"]["properties"]["data"] = event
    if path in _OF_CHUNKS:
        item = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
        streamed["application/json"] = {"schema": {"type": "object"}}
        streamed["text/event-stream"] = {"itemSchema": item}


def _events() -> dict[str, Any]:
    """Returns the schemas of the events of streams, each under its class's name, and of any of them as Event."""
    kinds: Iterable[type[Event]] = (*EVENTS, Queued, Failed, PullProgress, PullFinished, FileSynced, SyncFinished)
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
