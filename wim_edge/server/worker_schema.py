"""The JSON Schema of the worker's lines: its requests and events, for hosts in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from wim_edge.reading.events import EVENTS, Event
from wim_edge.server.job_queue import Failed, Queued
from wim_edge.server.worker_protocol import CONTROLS, REQUESTS, WorkerJudge

PROTOCOL = 1
"""The protocol's version: it rises when a host that follows the one before would be misunderstood. New fields and new
events do not raise it: pass over what you do not know."""
_ID = {"description": "any JSON value; the events of the request bear it"}


def worker_schema() -> dict[str, Any]:
    """Returns the schema (2020-12), whose `request` and `event` in `$defs` describe a line each."""
    kinds: tuple[type[Event], ...] = (*EVENTS, Queued, Failed)
    named: list[type] = [*REQUESTS.values(), WorkerJudge, *kinds]
    refs, defs = msgspec.json.schema_components(named, schema_hook=_hook, ref_template="#/$defs/{name}")
    bodies = {kind: defs[ref["$ref"].rsplit("/", 1)[1]] for kind, ref in zip(named, refs, strict=True)}
    for kind in kinds:
        _add(bodies[kind], type={"const": kind.type})
    for body in bodies.values():
        _add(body, id=_ID)
    controls: list[dict[str, Any]] = []
    for name in CONTROLS:
        body = bodies[WorkerJudge] if name == "judge" else {"type": "object", "properties": {}, "required": []}
        controls.append(_add(body, id=_ID, do={"const": name}))
    asked = [_add(bodies[kind], do={"const": name}) for name, kind in REQUESTS.items()]
    defs |= {"request": {"oneOf": [*asked, *controls]}, "event": {"oneOf": [bodies[kind] for kind in kinds]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "protocol": PROTOCOL, "$defs": defs}


def _add(body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Adds required fields to an object's schema, and returns it."""
    body["properties"] = {**fields, **body["properties"]}
    body["required"] = list(dict.fromkeys([*fields, *body.get("required", ())]))
    return body


def _hook(kind: type) -> dict[str, Any]:
    """Returns the schema of what msgspec knows none of."""
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError
