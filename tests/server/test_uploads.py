"""The documents that were given to the server: any name, and each once."""

from __future__ import annotations

import pytest

from tests.server.conftest import Client


@pytest.mark.parametrize("name", ["🚢" * 300 + ".txt", "..", "a\nb.txt", "C:\\x\\y.txt", "con.txt", " ", "a.txt/", "-"])
def test_any_name_will_do(client: Client, name: str) -> None:
    given = client.upload(name, "The ferry sails at noon.")
    assert client.ok(client.get(f"/api/documents/{given['id']}"))["text"] == "The ferry sails at noon."


def test_a_document_is_loaded_once_however_often_it_is_named(client: Client) -> None:
    number = client.upload()["id"]
    asked = client.question(documents=(number,) * 60)
    assert client.wait(asked["id"])["state"] == "done"
    started = next(e for e in client.told(asked["id"]) if e["type"] == "reading.started")
    assert len(started["documents"]) == 1
    part = {"type": "file", "file": {"file_id": f"file-{number}"}}
    body = {"messages": [{"role": "user", "content": [part] * 100}]}
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 400
    assert "100 files" in response.json()["error"]["message"]
