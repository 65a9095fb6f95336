"""Errors in one form, and an end while it is watched."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import Slow
from wim_edge import events
from wim_edge.server import app as app_module


@pytest.mark.parametrize("body", ['{"documents":[1],"question":"a \\ud800 b"}', '{"documents":[1],"question":"a",'
                                  '"options":{"temperature":NaN}}', '{"documents":[1],"question":"a","options":'
                                  '{"temperature":1e999}}', "nothing", "[]", ""])  # fmt: skip
def test_what_is_no_request_is_told_in_our_form(client: Client, body: str, caplog: pytest.LogCaptureFixture) -> None:
    response = client.post("/api/questions", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "InvalidRequestError"
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]
    assert client.get("/nothing").json()["error"]["message"] == "Not Found"


def test_the_pages_files_are_what_they_are_whatever_the_system_says(make: Callable[..., Any]) -> None:
    for ending in (".js", ".css", ".svg"):
        mimetypes.add_type("text/plain", ending)  # as Windows' registry may
    with serving(make()) as address, Client(base_url=address, timeout=30) as client:
        for name, kind in (("app.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml")):
            found = client.get(f"/{name}")
            assert (found.status_code, found.headers["content-type"].split(";")[0]) == (200, kind)


def test_the_server_ends_while_it_is_watched(make: Callable[..., Any], model: Slow, caplog: Any) -> None:
    app = make()
    with serving(app) as address, Client(base_url=address, timeout=30) as client:
        client.upload()
        model.seconds = 0.05
        with client.stream("POST", "/api/ask", json={"documents": [1], "question": "Which?"}) as response:
            lines = response.iter_lines()
            next(lines)
            app.state.service.close()
            assert any("cancelled" in line for line in lines)
    assert not [record for record in caplog.records if record.name.startswith("uvicorn")]


@pytest.mark.parametrize(("method", "path", "status"), [
    ("POST", "/v1/nothing", 404), ("DELETE", "/nothing.html", 404), ("GET", "/api/nothing", 404),
    ("DELETE", "/v1/models", 405), ("PUT", "/api/questions", 405),
])  # fmt: skip
def test_what_is_not_there_is_not_found(client: Client, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["error"]["type"] == "InvalidRequestError"


def test_the_page_listens_to_every_event_or_names_those_that_it_passes_over() -> None:
    script = (Path(app_module.__file__).with_name("page") / "api.js").read_text(encoding="utf-8")
    listed = re.search(r"const EVENTS = \[(.*?)\];", script, re.DOTALL)
    assert listed
    heard = set(re.findall(r'"([\w.]+)"', listed[1]))
    known = {event.type for event in events.EVENTS} | {"queued", "error"}
    assert heard <= known
    assert known - heard == {
        "margin.delta", "reading.order",  # the margin comes whole, and segments as they are read
        "completion.delta", "completion.finished", "text.embedded",  # of prompts and texts without a document
        "recall.titles",  # the passages follow
        "pages.recognised",  # a document on the shelf is text
    }  # fmt: skip
