"""The JSON Schema of events, and of the worker's lines, for hosts in other languages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from wim_edge.reading.events import EVENTS, Event
from wim_edge.server.job_queue import Failed, Queued
from wim_edge.server.worker_protocol import CONTROLS, REQUESTS, WorkerJudge

PROTOCOL = 1
"""The protocol's version. It rises when a host of the version before would misunderstand a line. New fields and events
do not raise it: ignore unknown ones."""
_ID = {"description": "any JSON value; the events of the request have the same"}


def worker_schema() -> dict[str, Any]:
    """Returns the schema (2020-12), whose `request` and `event` in `$defs` describe a line each."""
    named: list[type] = [*REQUESTS.values(), WorkerJudge]
    kinds: list[type[Event]] = [*EVENTS, Queued, Failed]
    bodies, defs = schemas_of([*named, *kinds], "#/$defs/{name}")
    for body in bodies.values():
        _add(body, id=_ID)
    controls: list[dict[str, Any]] = []
    for name in CONTROLS:
        body = bodies[WorkerJudge] if name == "judge" else {"type": "object", "properties": {}, "required": []}
        controls.append(_add(body, id=_ID, do={"const": name}))
    asked = [_add(bodies[kind], do={"const": name}) for name, kind in REQUESTS.items()]
    defs |= {"request": {"oneOf": [*asked, *controls]}, "event": {"oneOf": [bodies[kind] for kind in kinds]}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "protocol": PROTOCOL, "$defs": defs}


def schemas_of(kinds: Sequence[type], template: str) -> tuple[dict[type, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Returns the schema of each class, events with their `type`, and the schemas by name, these and what they use.
    ``template``: the form of references."""
    refs, defs = msgspec.json.schema_components(kinds, schema_hook=_hook, ref_template=template)
    bodies = {kind: defs[ref["$ref"].rsplit("/", 1)[1]] for kind, ref in zip(kinds, refs, strict=True)}
    for kind, body in bodies.items():
        if issubclass(kind, Event):
            _add(body, type={"const": kind.type})
    return bodies, defs


def _add(body: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Adds required fields to an object's schema, and returns it."""
    body["properties"] = {**fields, **body["properties"]}
    body["required"] = list(dict.fromkeys([*fields, *body.get("required", ())]))
    return body


def _hook(kind: type) -> dict[str, Any]:
    """Returns the schema of a type that msgspec does not know."""
    if kind is Path:
        return {"type": "string"}
    raise NotImplementedError
