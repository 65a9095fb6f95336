"""The API's documents: given, shown, let go of, and what cannot be read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.server.conftest import Client
from tests.server.slow import Slow


def test_a_document_is_uploaded_kept_once_shown_and_let_go_of(client: Client) -> None:
    text = "# Boats 🚢\n\nThe ferry sails at noon.\n\n## Crew\n\nNine."
    given = client.upload("boats.md", text)
    assert (given["title"], given["pages"], given["notes"]) == ("Boats 🚢", None, [])
    assert client.upload("boats.md", text)["id"] == given["id"]
    other = client.upload("../../boats.md", "# Boats 🚢\n\nAnother.")
    assert other["id"] != given["id"]
    assert (other["name"], other["file"]) == ("Boats 🚢 (2)", "boats.md")
    whole = client.ok(client.get(f"/api/documents/{given['id']}"))
    assert whole["chars"] == len(whole["text"])
    crew = next(mark for mark in whole["marks"] if mark["section"] == "Crew")
    assert whole["text"][crew["start"] :].startswith(("Crew", "## Crew"))
    assert [one["id"] for one in client.ok(client.get("/api/documents"))] == [given["id"], other["id"]]
    path = f"/api/documents/{given['id']}"
    assert [client.request(method, path).status_code for method in ("DELETE", "GET", "DELETE")] == [204, 404, 404]


@pytest.mark.parametrize(("name", "data"), [("a.bin", b"\0\1\2"), ("a.txt", b"  "), ("a.pdf", b"%PDF-1.4 no")])
def test_what_cannot_be_read_says_why(client: Client, name: str, data: bytes) -> None:
    response = client.post("/api/documents", files={"file": (name, data)})
    assert response.status_code == 422
    assert response.json()["error"]["type"] == "DocumentError"
    assert response.json()["error"]["hint"]


def test_letting_go_of_a_document_lets_go_of_its_questions(client: Client, model: Slow) -> None:
    client.upload()
    client.upload("other.txt", "Other words.")
    alone, both = client.question()["id"], client.question(documents=(1, 2))["id"]
    client.wait(both)
    assert client.delete("/api/documents/1").status_code == 204
    assert client.get(f"/api/questions/{alone}").status_code == 404
    assert client.asked(both)["answer"]
    assert client.post(f"/api/questions/{both}/again").status_code == 404
    assert client.post("/api/questions", json={"documents": [1], "question": "a?"}).status_code == 404
    assert client.delete("/api/documents/2").status_code == 204
    assert client.get(f"/api/questions/{both}").status_code == 404


def test_a_damaged_document_is_listed_and_its_text_not_told(client: Client, tmp_path: Path) -> None:
    good, bad = client.upload("a.txt", "Nothing is wrong here."), client.upload("b.txt", "A secret is told here.")
    (path,) = tmp_path.glob("home/libraries/given/documents.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE document SET text = CAST(x'ff' || CAST(text AS BLOB) AS TEXT) WHERE id = ?", (bad["id"],))
    db.close()
    assert [one["id"] for one in client.ok(client.get("/api/documents"))] == [good["id"], bad["id"]]
    client.ok(client.get(f"/api/documents/{good['id']}"))
    response = client.get(f"/api/documents/{bad['id']}")
    assert response.status_code == 503
    assert "secret" not in response.text
