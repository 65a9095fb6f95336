"""What the machine says that it does."""

from __future__ import annotations

from tests.server.conftest import Client


def test_the_machine_says_what_it_does(client: Client) -> None:
    before = client.ok(client.get("/api/status"))
    assert (before["model"], before["waiting"]) == (None, 0)
    client.upload()
    client.wait(client.question()["id"])
    after = client.ok(client.get("/api/status"))
    assert (after["model"], after["waiting"]) == ("fake", 0)
    assert after["memory_bytes"] > 10**6
    names = [one["name"] for one in client.ok(client.get("/api/models"))]
    assert "smollm2-135m" in names
    (reading,) = client.ok(client.get("/api/readings"))
    assert reading["tokens"] == reading["of_tokens"] > 0
    assert client.delete(f"/api/readings/{reading['id']}").status_code == 204
    assert client.ok(client.get("/api/readings")) == []
    assert client.delete(f"/api/readings/{reading['id']}").status_code == 404
