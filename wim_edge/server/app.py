"""Creates the ASGI application: routes, error handlers, limits, web page, OpenAPI description and one `JobQueue`."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.staticfiles import StaticFiles

import wim_edge
from wim_edge.errors import InvalidRequestError, LibraryError, WimEdgeError
from wim_edge.library import FAILURES
from wim_edge.reading.events import EVENTS, Event
from wim_edge.server import documents, machine, questions
from wim_edge.server.dependencies import Service, error_response
from wim_edge.server.documents import FileSynced, SyncFinished
from wim_edge.server.guard import Guard, hosts_of
from wim_edge.server.history import History
from wim_edge.server.job_queue import BusyError, Failed, JobQueue, Queued
from wim_edge.server.machine import PullFinished, PullProgress
from wim_edge.server.openai import routes as openai_routes
from wim_edge.server.uploads import AllowedFolders, Uploads
from wim_edge.server.worker_protocol import schemas_of
from wim_edge.settings import Settings
from wim_edge.system.addresses import is_loopback

BODY_BYTES = 8 * 1024**2
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""The content types of the web page's files. Windows may declare scripts as plain text, which browsers do not run."""
_REF = "#/components/schemas/{name}"
_SCHEMA = "See /api/openapi.json."
_ABOUT = """Ask long documents with small models, and follow the reading.

Streams are Server-Sent Events: each has the event's number as `id`, its type as `event`, and the event as JSON in
`data`; docs/events.md describes them. The server adds two: `queued` comes first, and `error` comes last if a request
fails after its stream has begun. Errors are `{"error": {"type", "message", "hint"}}`."""


def create_app(
    settings: Settings | None = None, *, folders: Sequence[Path] = (), host: str = "127.0.0.1",
    names: Iterable[str] = (), token: str | None = None, most_waiting: int = 8, read_on: bool = False,
) -> FastAPI:  # fmt: skip
    """Returns the server as an ASGI application.

    ``settings``: the defaults of requests; None: those from the environment. ``folders``: a request may name their
    files; other files must be uploaded. ``host``: the address to listen on; ``names``: its further host names.
    ``most_waiting``: the most jobs that wait. ``read_on``: True to read on after an answer while no job waits. Raises
    LibraryError. Raises InvalidRequestError for an invalid token, or for none if ``host`` is not a loopback address.
    """
    if token is not None and not re.fullmatch(r"[!#-+\--:<-\[\]-~]+", token):  # headers and cookies take only these
        raise InvalidRequestError("the token is empty, or cannot be sent in a header", "Letters, digits and dashes.")
    if token is None and not is_loopback(host):
        raise InvalidRequestError(f"other machines reach {host}: a token is required", "Give --token.")
    settings = settings or Settings.from_environment()
    store = Uploads(AllowedFolders(folders), settings)
    service = Service(settings, store, History(store.folder / "questions"), read_on)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.queue = JobQueue(settings, most=most_waiting)
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="wim-edge", version=wim_edge.__version__, description=_ABOUT, lifespan=lifespan, docs_url=None,
        redoc_url=None, openapi_url="/api/openapi.json", telemetry={"auto_configure": False},
        max_body_size=BODY_BYTES,
    )  # fmt: skip
    app.state.service = service
    for one in (documents, questions, machine):
        app.include_router(one.router, prefix="/api")
    app.include_router(openai_routes.router)
    for ending, kind in _TYPES.items():
        mimetypes.add_type(kind, ending)
    app.mount("/", StaticFiles(directory=Path(__file__).with_name("page"), html=True))
    app.openapi = partial(_describe, app)  # type: ignore[method-assign]
    app.add_exception_handler(WimEdgeError, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_middleware(Guard, hosts=hosts_of(host, names), token=token)
    return app


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    """Returns the response 422 for a request of the wrong form: the first error, without values from the request."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()[0]
    where = ".".join(str(one) for one in found["loc"][1:]) or "the body"
    return error_response(InvalidRequestError(f"{where}: {found['msg']}", _SCHEMA).to_dict(), 422)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """Converts Starlette's HTTPException to an error response in wim-edge's JSON form. On a path without a route, a
    method other than GET gets 404: Starlette alone would answer 405, because the web page is mounted there."""
    assert isinstance(error, HTTPException)
    matches = (route.matches(request.scope)[0] is Match.PARTIAL for route in request.app.routes)
    error = HTTPException(404) if error.status_code == 405 and not any(matches) else error
    return error_response(InvalidRequestError(str(error.detail), _SCHEMA).to_dict(), error.status_code, error.headers)


async def _failed(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, WimEdgeError)
    is_disk = isinstance(error, LibraryError) and isinstance(error.__cause__, FAILURES)  # not a missing library
    headers = {"retry-after": str(error.retry_after)} if isinstance(error, BusyError) else {}
    return error_response(error.to_dict(), 503 if is_disk else None, headers)


def _describe(app: FastAPI) -> dict[str, Any]:
    """Returns an application's OpenAPI description, with the schemas of streamed events and of errors."""
    found = FastAPI.openapi(app)
    found["components"]["schemas"] |= _events()
    for operations in found["paths"].values():
        for operation in operations.values():
            _complete(operation["responses"])
    return found


def _complete(responses: dict[str, Any]) -> None:
    """Adds schemas to an operation's ``responses`` (by status): `ErrorBody` for errors, `Event` for streamed events."""
    for status, response in responses.items():
        if status >= "400":
            response["content"] = {"application/json": {"schema": {"$ref": _REF.format(name="ErrorBody")}}}
    streamed = responses.get("200", {}).get("content", {}).get("text/event-stream", {})
    fields = streamed.get("itemSchema", {}).get("properties", {})
    if "event" in fields:
        fields["data"] = {"type": "string", "contentMediaType": "application/json",
                          "contentSchema": {"$ref": _REF.format(name="Event")}}  # fmt: skip


def _events() -> dict[str, Any]:
    """Returns JSON Schemas by name: streamed events, their fields' types, and `Event`, the union of all events."""
    kinds: tuple[type[Event], ...] = (*EVENTS, Queued, Failed, PullProgress, PullFinished, FileSynced, SyncFinished)
    names = {kind.type: _REF.format(name=kind.__name__) for kind in kinds}
    return schemas_of(kinds, _REF)[1] | {
        "Event": {
            "description": "An event of a reading; docs/events.md describes each. Ignore unknown types.",
            "oneOf": [{"$ref": name} for name in names.values()],
            "discriminator": {"propertyName": "type", "mapping": names},
        }
    }
