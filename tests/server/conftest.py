"""A server on a free port, with a scripted engine, and a client."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from tests.server.browser import BROWSER, SECONDS
from tests.server.slow import SMALL, TEXT, Slow, until
from wim_edge import Runtime, Settings
from wim_edge.server import job_queue
from wim_edge.server.app import create_app
from wim_edge.server.guard import HeaderTimeoutProtocol

PARTS = "".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(60))
ALONE = {"pattern": "wim-shallow", "relevance": "likelihood", "margins": "verbatim", "segment_tokens": 32}


class _Hurried:
    """asyncio for uvicorn, which looks ten times a second whether it shall end, and some three hundred times here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Hurried()  # type: ignore[assignment]


def types(found: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in found]


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Its address."""
    config = uvicorn.Config(
        app, port=0, log_level="warning", timeout_graceful_shutdown=1, http=HeaderTimeoutProtocol,
        timeout_keep_alive=600,  # so that whoever is let go was let go by us
    )  # fmt: skip
    sock = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Client(httpx.Client):
    """With shorthands, and without the certificates and proxies that a server of the test's own needs none of."""

    def __init__(self, **given: Any) -> None:
        super().__init__(verify=False, trust_env=False, **given)

    def upload(self, name: str = "story.txt", text: str | bytes = TEXT) -> dict[str, Any]:
        data = text.encode() if isinstance(text, str) else text
        return self.ok(self.post("/api/documents", files={"file": (name, data)}))

    def question(
        self, text: str = "Which colour?", documents: tuple[int, ...] = (1,), **options: Any
    ) -> dict[str, Any]:
        body = {"documents": list(documents), "question": text, "options": options}
        return self.ok(self.post("/api/questions", json=body))

    def asked(self, number: str) -> dict[str, Any]:
        return self.ok(self.get(f"/api/questions/{number}"))

    def wait(self, number: str, *states: str) -> dict[str, Any]:
        wanted = states or ("done", "failed", "cancelled")
        until(lambda: self.asked(number)["state"] in wanted)
        return self.asked(number)

    def connect(self) -> socket.socket:
        """A connection of its own."""
        return socket.create_connection(("127.0.0.1", self.base_url.port or 0), timeout=25)

    def told(self, number: str, after: int = -1, **more: Any) -> list[dict[str, Any]]:
        """A question's events, once the last one is there."""
        return self.events(f"/api/questions/{number}/events", params={"after": after}, **more)

    def events(self, path: str, method: str = "GET", **more: Any) -> list[dict[str, Any]]:
        with self.stream(method, path, **more) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"].startswith("text/event-stream")
            return list(parsed(response))

    @staticmethod
    def ok(response: httpx.Response) -> Any:
        assert response.is_success, (response.status_code, response.text)
        return response.json()


def parsed(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream; each name and number must be as it says."""
    found: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif "data" in found:
            event = json.loads(found["data"])
            assert event["type"] == found["event"]
            yield {**event, "id": int(found["id"])}
            found = {}


@pytest.fixture
def model() -> Slow:
    return Slow()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def make(model: Slow, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes the application, with the scripted model, or with another runtime."""

    def made(open_runtime: Any = lambda settings: Runtime(settings, model=model), **more: Any) -> Any:
        monkeypatch.setattr(job_queue, "Runtime", open_runtime)
        return create_app(**{"settings": SMALL, "folders": [folder], "most_waiting": 3, **more})

    return made


@pytest.fixture
def client(make: Callable[..., Any]) -> Iterator[Client]:
    with serving(make()) as address, Client(base_url=address, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright_api = pytest.importorskip("playwright.sync_api")  # here: each worker imports this file
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, model_file: Callable[[str], Path], request: pytest.FixtureRequest) -> Iterator[Any]:
    """With llama.cpp and random weights that judge for themselves: they show as much, sooner. `REAL_MODEL` asks for a
    real model."""
    model = model_file(getattr(request, "param", "llama"))
    settings = Settings(model=str(model), judge="self", segment_tokens=64, margin_tokens=16, answer_tokens=8)
    with serving(create_app(settings)) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(address) else None)
        page.goto(address)
        yield page
        assert not wrong
