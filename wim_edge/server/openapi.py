"""The OpenAPI description, with the events of streams and the form of errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from wim_edge.reading.events import EVENTS, Event
from wim_edge.server.job_queue import Failed, Queued
from wim_edge.server.libraries import FileSynced, SyncFinished
from wim_edge.server.models import PullFinished, PullProgress
from wim_edge.server.worker_schema import schemas_of

_REF = "#/components/schemas/{name}"
_OF_EVENTS = ("/api/ask", "/api/read", "/api/questions/{number}/events", "/api/models/{name}/pull",
              "/api/libraries/{library}/sync")  # fmt: skip
_OF_CHUNKS = ("/v1/chat/completions", "/v1/completions")


def describe(app: FastAPI) -> dict[str, Any]:
    """Returns the OpenAPI description of an application."""
    found = FastAPI.openapi(app)
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):  # our errors have another form
        schemas.pop(unused, None)
    schemas |= _events()
    for path, operations in found["paths"].items():
        for operation in operations.values():
            _complete(path, operation["responses"])
    return found


def _complete(path: str, responses: dict[str, Any]) -> None:
    """Adds the form of errors, and the events or chunks of streams, to the responses of a path."""
    for status, response in responses.items():
        if status >= "400":
            response["content"] = {"application/json": {"schema": {"$ref": _REF.format(name="ErrorBody")}}}
    streamed = responses.get("200", {}).get("content", {})
    if path in _OF_EVENTS:
        event = {"type": "string", "contentMediaType": "application/json",
                 "contentSchema": {"$ref": _REF.format(name="Event")}}  # fmt: skip
        streamed["text/event-stream"]["itemSchema"]["properties"]["data"] = event
    if path in _OF_CHUNKS:
        item = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}
        streamed["application/json"] = {"schema": {"type": "object"}}
        streamed["text/event-stream"] = {"itemSchema": item}


def _events() -> dict[str, Any]:
    """Returns the schemas of the events of streams by their classes' names, and of any of them as Event."""
    kinds: tuple[type[Event], ...] = (*EVENTS, Queued, Failed, PullProgress, PullFinished, FileSynced, SyncFinished)
    names = {kind.type: _REF.format(name=kind.__name__) for kind in kinds}
    return schemas_of(kinds, _REF)[1] | {
        "Event": {
            "description": "An event of a reading; docs/events.md describes each. Ignore unknown types.",
            "oneOf": [{"$ref": name} for name in names.values()],
            "discriminator": {"propertyName": "type", "mapping": names},
        }
    }
