"""A misbehaving hub on this machine, and the real huggingface-hub that pulls from it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.attack.fork_server import ForkServer
from tests.attack.run import Outcome, command

REPO, FILE = "owner/tiny-GGUF", "tiny.gguf"
SECONDS = 60.0
WAITS = {"HF_HUB_DOWNLOAD_TIMEOUT": "1", "HF_HUB_ETAG_TIMEOUT": "1", "NO_PROXY": "127.0.0.1"}
"""Short time-outs: the package waits 10 seconds by default."""


class Hub(ThreadingHTTPServer):
    """A hub of one file that records its requests."""

    daemon_threads = True

    def __init__(self, data: bytes, fault: Fault | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.data = data
        self.fault = fault
        """A fault that responds instead if it returns True."""
        self.breaks_at: int | None = None
        """The byte at which the connection breaks, once."""
        self.sent = 0
        self.gets: list[tuple[str, str | None]] = []
        """The requested paths, each with its Range header."""
        self.tokens: list[str | None] = []
        self.other: Hub | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        pass  # clients that go away


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.server.gets.append((self.path, self.headers["Range"]))
        body = self.answer()
        breaks_at, self.server.breaks_at = self.server.breaks_at, None
        self.server.sent += len(body[:breaks_at])
        self.wfile.write(body[:breaks_at])

    def answer(self) -> bytes:
        """Sends the headers; returns the body."""
        data = self.server.data
        self.server.tokens.append(self.headers["Authorization"])
        if self.server.fault is not None and self.server.fault(self):
            return b""
        if not re.fullmatch(rf"/owner/[\w-]+/resolve/main/{FILE}", self.path):
            self.refuse(404, {"X-Error-Code": "EntryNotFound"})
            return b""
        start = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.headers_of(data, len(data) - start)
        return data[start:]

    def headers_of(self, data: bytes, length: int | None) -> None:
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", "1" * 40)
        # as Hugging Face does for models: there is a second way to fetch this
        self.send_header("X-Xet-Hash", "2" * 64)
        self.send_header("X-Xet-Refresh-Route", f"{self.server.endpoint}/xet")
        self.end_headers()

    def refuse(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


ELSEWHERE = "redirects to another host"
"""Hugging Face redirects for every model; the user's token must not follow."""
Fault = Callable[[Handler], bool]


def _status(status: int, headers: dict[str, str] | None = None) -> Fault:
    def fault(handler: Handler) -> bool:
        handler.refuse(status, headers)
        return True

    return fault


def _on_get(act: Callable[[Handler], None]) -> Fault:
    """Returns a fault of GET alone: HEAD works."""

    def fault(handler: Handler) -> bool:
        if handler.command == "HEAD":
            return False
        act(handler)
        handler.close_connection = True
        return True

    return fault


def _send(handler: Handler, body: bytes, said: int | None, *, status: int = 200) -> None:
    handler.send_response(status)
    handler.headers_of(handler.server.data, said)
    handler.wfile.write(body)


def _stall(handler: Handler) -> None:
    data = handler.server.data
    _send(handler, data[: len(data) // 2], len(data))
    handler.wfile.flush()
    time.sleep(30)


def _drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.headers_of(handler.server.data, len(handler.server.data))
    for at in range(20):
        handler.wfile.write(handler.server.data[at : at + 1])
        handler.wfile.flush()
        time.sleep(0.3)


def _endless(handler: Handler) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.headers_of(handler.server.data, None)
    block = bytes(1 << 20)
    for _ in range(4096):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
        handler.server.sent += len(block)


def _elsewhere(handler: Handler) -> bool:
    other = handler.server.other
    handler.send_response(302)
    handler.send_header("Location", f"http://localhost:{other.server_port}{handler.path}")
    handler.send_header("X-Linked-Size", str(len(handler.server.data)))
    handler.headers_of(handler.server.data, 0)
    return True


def _silent(handler: Handler) -> bool:
    time.sleep(30)
    handler.close_connection = True
    return True


def _hang_up(handler: Handler) -> bool:
    handler.close_connection = True
    return True


def _no_http(handler: Handler) -> bool:
    handler.wfile.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n" * 1000)
    handler.close_connection = True
    return True


def _other_bytes(handler: Handler) -> None:
    data = handler.server.data
    _send(handler, data[:-8] + bytes(8), len(data))


FAULTS: dict[str, Fault | None] = {
    "as it should": None,
    "stalls half-way": _on_get(_stall),
    "sends a byte now and then, and stops": _on_get(_drip),
    "never answers": _silent,
    "hangs up": _hang_up,
    "hangs up on the file": _on_get(lambda handler: None),
    "speaks no HTTP": _no_http,
    "says more than it sends": _on_get(lambda h: _send(h, h.server.data, len(h.server.data) + 1000)),
    "says less than it sends": _on_get(lambda h: _send(h, h.server.data, len(h.server.data) // 2)),
    "says nothing of the length, and sends half": _on_get(lambda h: _send(h, h.server.data[:999], None)),
    "says a length that is none": _on_get(lambda h: (
        h.send_response(200), h.send_header("Content-Length", "many"), h.end_headers())[0]),
    "sends without an end": _on_get(_endless),
    "sends other bytes": _on_get(_other_bytes),
    "sends a page": _on_get(lambda h: _send(h, b"<html>Sign in to this network</html>", 36)),
    "sends nothing": _on_get(lambda h: _send(h, b"", 0)),
    "answers part of it unasked": _on_get(lambda h: _send(h, h.server.data[9:], len(h.server.data) - 9, status=206)),
    ELSEWHERE: _elsewhere,
    "redirects in a circle": lambda h: (h.refuse(302, {"Location": h.path}), True)[1],
    "redirects to a file": _status(302, {"Location": "file:///etc/passwd"}),
    "redirects to nowhere": _status(302, {"Location": "http://127.0.0.1:1/"}),
    "announces no file": _status(200),
    "answers 401": _status(401),
    "answers 403": _status(403),
    "answers 404": _status(404),
    "has no such repository": _status(404, {"X-Error-Code": "RepoNotFound"}),
    "has no such file": _status(404, {"X-Error-Code": "EntryNotFound"}),
    "asks for terms": _status(403, {"X-Error-Code": "GatedRepo"}),
    "answers 416": _on_get(lambda handler: handler.refuse(416)),
    "answers 429": _status(429, {"Retry-After": "3600"}),
    "answers 429 to the file": _on_get(lambda handler: handler.refuse(429, {"Retry-After": "3600"})),
    "answers 500": _status(500),
    "answers 503": _status(503),
    "answers 503 to the file": _on_get(lambda handler: handler.refuse(503)),
}  # fmt: skip
"""The faults of a hub, by description."""


@contextlib.contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    Thread(target=hub.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()


def write_entry(
    home: Path, sha256: str | None, file: str = FILE, *, repos: Mapping[str, str] = {"tiny": REPO}, nbytes: int = 1
) -> Path:
    """Writes a user's catalog of models on the hub, by name; returns the path of the first one's file."""
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config/models.toml").write_text("\n".join(
        f'[models.{name}]\ndescription = "x"\nlicence = "x"\nparameters = "1"\ncontext = 4096\nrank = 1\n'
        f'bytes = {nbytes}\n[models.{name}.source]\nkind = "hub"\nrepo = "{repo}"\nfile = "{file}"\n'
        + (f'sha256 = "{sha256}"\n' if sha256 else "")
        for name, repo in repos.items()
    ))  # fmt: skip
    return home / "models" / next(iter(repos.values())) / file


def pull(server: ForkServer, hub: Hub, home: Path, what: str = "") -> Outcome:
    """Pulls the model with the command line."""
    environment = {**WAITS, "HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_secret"}
    return command(server, what, ["models", "pull", "tiny", "--alone"], home, seconds=SECONDS, environment=environment)


def attack(server: ForkServer, what: str, data: bytes, home: Path, *, known: bool) -> Outcome:
    """Pulls from a hub with a fault, and then from a good one. ``known``: the catalog has the file's SHA-256.

    Returns a CRASH if a wrong file is left in the model's place, if the good hub fails afterwards, if the user's token
    reaches another host, or if more is written than was announced.
    """
    target = write_entry(home, hashlib.sha256(data).hexdigest() if known else None)
    with running(Hub(data, FAULTS[what])) as hub, running(Hub(data)) as other:
        hub.other = other
        found = pull(server, hub, home, what)
        wrong = ""
        if target.is_file() and target.read_bytes() != data and known:
            wrong = "a wrong file is in the model's place"
        elif found.how == "works" and not target.is_file():
            wrong = "it works, and there is no file"
        elif any(other.tokens):
            wrong = "the token was sent to another host"
        elif what == ELSEWHERE and found.how != "works":
            wrong = "a file is not fetched from where it lies"
        elif (kept := sum(path.stat().st_size for path in home.rglob("*") if path.is_file())) > len(data) + (32 << 20):
            wrong = f"{kept:,} bytes are left on the disk"
        if found.how == "works" and not known and target.read_bytes() != data:
            target.unlink()  # without a checksum a wrong file stays unnoticed
        hub.fault = None
        again = pull(server, hub, home)
        if not wrong and (again.how != "works" or target.read_bytes() != data):
            wrong = f"afterwards: {again.said}"
    if wrong and found.how != "HANG":
        return Outcome(what, "CRASH", found.seconds, found.bytes, f"{wrong}; {found.said}")
    return found


def cases(server: ForkServer, folder: Path, data: bytes) -> Iterator[Callable[[], Outcome]]:
    """Yields each fault, with a file whose checksum is known and with one whose checksum is not."""
    for number, what in enumerate(FAULTS):
        for known in (True, False):
            home = folder / f"hub-{number}-{known}"
            home.mkdir()
            os.chmod(home, 0o700)
            yield partial(attack, server, what, data, home, known=known)
