"""Who may ask, what a hostile request gets, and which connections are let go of."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import TEXT
from wim_edge.errors import InvalidRequestError
from wim_edge.server import guard, uploads
from wim_edge.server.guard import COOKIE, hosts_of


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "", "[::1", "a b",
                                  "127.0.0.1@evil.example", "localhost:{port}/x"])  # fmt: skip
def test_another_host_is_refused(client: Client, host: str) -> None:
    response = client.get("/api/status", headers={"host": host.format(port=client.base_url.port)})
    assert response.status_code in (400, 403)


def test_our_own_names_are_fine(client: Client) -> None:
    for host in ("localhost", f"127.0.0.1:{client.base_url.port}", "LOCALHOST:99", "[::1]:8321"):
        assert client.get("/api/status", headers={"host": host}).status_code == 200


def test_another_site_is_refused(client: Client) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://[", "file://"):
        response = client.post("/api/documents", files={"file": ("a.txt", b"words")}, headers={"origin": origin})
        assert response.status_code == 403, origin
        assert "access-control-allow-origin" not in response.headers
    own = f"http://127.0.0.1:{client.base_url.port}"
    client.ok(client.post("/api/documents", files={"file": ("a.txt", b"words")}, headers={"origin": own}))
    assert client.options("/api/documents", headers={"origin": own}).status_code == 405
    assert client.ok(client.get("/api/documents"))[0]["chars"] == 5


def test_answers_are_not_for_other_frames_scripts_or_caches(client: Client) -> None:
    for path in ("/", "/api/status", "/nothing"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_token_is_required_where_it_is_set(make: Callable[..., Any]) -> None:
    with serving(make(token="tok-en")) as address, Client(base_url=address) as client:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic tok-en"}, {"cookie": "a=b"},
                        {"cookie": f"{COOKIE}=wrong"}, {"cookie": f"{COOKIE}=tok-e"}):  # fmt: skip
            for path in ("/", "/api/status", "/app.js", "/api/openapi.json"):
                assert client.get(path, headers=headers).status_code == 401, (path, headers)
        assert client.get("/api/status?token=tok-en").status_code == 401  # in no address but the page's
        assert client.get("/api/status", headers={"authorization": "Bearer tok-en"}).status_code == 200
        for others in ('foo={"a":1}; ', "a,b=1; ", f"{COOKIE}=x; "):  # other programs' cookies put nobody out
            assert client.get("/api/status", headers={"cookie": f"{others}{COOKIE}=tok-en"}).status_code == 200
        assert client.get("/?token=wrong").status_code == 401
        found = client.get("/?token=tok-en")
        assert found.status_code == 303
        assert found.headers["location"] == "/"
        assert "HttpOnly" in found.headers["set-cookie"]
        assert "samesite=strict" in found.headers["set-cookie"].lower()
        assert client.get("/api/status").status_code == 200  # the cookie


def test_other_machines_need_a_token(make: Callable[..., Any]) -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "reader.local"):
        with pytest.raises(InvalidRequestError, match="token"):
            make(host=host)
    for token in ("", " ", "a b", "\u043a\u043b\u044e\u0447", "a;b", "a\nb"):
        with pytest.raises(InvalidRequestError, match="token is empty"):
            make(host="0.0.0.0", token=token)
    make(host="0.0.0.0", token="x-Y_1")
    assert hosts_of("192.168.1.5", ["Reader.local"]) == {"192.168.1.5", "reader.local"}


def test_bodies_have_limits(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    response = client.post("/api/questions", json={"documents": [1], "question": "a" * 9_000_000})
    assert response.status_code == 413
    response = client.post("/api/documents", files={"file": ("a.txt", b"a" * (uploads.MAX_BYTES + 1))})
    assert response.status_code == 413
    assert client.post("/api/questions", json={"documents": [1], "question": "a" * 20_001}).status_code == 422
    assert client.post("/api/questions", content=b"{" * 100_000).status_code == 422
    deep = client.post("/api/questions", content=b"[" * 100_000, headers={"content-type": "application/json"})
    assert deep.status_code in (400, 422)
    assert client.ok(client.get("/api/documents")) == []


def test_a_body_that_dawdles_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.3)
    with client.connect() as slow:
        slow.sendall(b"POST /api/questions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: 50\r\n\r\n{")  # fmt: skip
        answer = slow.recv(4096)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert client.get("/api/status").status_code == 200


def test_a_path_of_the_page_leads_nowhere_else(client: Client) -> None:
    for path in ("/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "/..%5capp.py", "//etc/passwd",
                 "/style.css/../../app.py"):  # fmt: skip
        with client.connect() as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while part := raw.recv(65536):
                answer += part
        assert answer.split(b"\r\n")[0].split()[1] in (b"404", b"400", b"403"), path
        assert b"create_app" not in answer


def test_no_text_of_a_document_or_a_question_is_logged(
    client: Client, caplog: pytest.LogCaptureFixture, model: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    client.upload("secret-name.txt", "A secret sentence. " + TEXT)
    client.wait(client.question("Is it a secret question?")["id"])
    model.reply = lambda prompt: [][1]
    client.wait(client.question("Is it a secret failure?")["id"])
    ours = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore", "asyncio"))]
    told = json.dumps([record.getMessage() + str(record.exc_text) for record in ours])
    assert "secret" not in told
    assert "a request failed" in told


def test_the_page_is_small_and_asks_nobody_else(client: Client) -> None:
    found = {path: client.get(path) for path in ("/", "/app.js", "/reader.js", "/style.css", "/icon.svg")}
    assert all(response.status_code == 200 for response in found.values())
    assert sum(len(response.content) for response in found.values()) < 300_000
    for path, response in found.items():
        text = response.text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
        assert "innerHTML" not in text, path


def test_half_a_head_is_not_waited_for_on_a_kept_connection(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD_SECONDS", 0.5)
    with client.connect() as held:
        held.sendall(b"GET /api/status HTTP/1.1\r\nHost: evil\r\n\r\n")
        assert b"403" in held.recv(65536)
        begun = time.monotonic()
        held.sendall(b"G")
        while held.recv(65536):
            pass
        assert time.monotonic() - begun > 0.3


def test_silent_connections_are_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HEAD_SECONDS", 0.3)
    with client.connect() as silent:
        assert silent.recv(1) == b""
    with client.connect() as slow:
        slow.sendall(b"GET /api/status HTTP/1.1\r\nHost: local")
        assert slow.recv(1) == b""
    assert client.get("/api/status").status_code == 200
