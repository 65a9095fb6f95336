"""The API's documents: given, shown, let go of, what cannot be read, and a PDF's pages, kept with it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.documents.make import deck, pdf
from tests.server.conftest import Client
from tests.server.slow import Slow
from wim_edge.server.uploads import Uploads

FERRY = pdf(b"The ferry sails at noon.", b"", b"It is a small ship.")


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


def kept(client: Client) -> list[Path]:
    return list(Uploads().folder.glob("files/*"))


def test_a_pdf_is_shown_as_its_pages(client: Client) -> None:
    given = client.upload("ferry.pdf", FERRY)
    at = f"/api/documents/{given['id']}"
    whole = client.ok(client.get(at))
    assert whole["page_images"]
    pages = client.ok(client.get(f"{at}/pages"))
    assert [(one["width"], one["height"]) for one in pages] == [(612, 792)] * 3
    said = [whole["text"][one["start"] : one["end"]].strip() for one in pages]
    assert said == ["The ferry sails at noon.", "", "It is a small ship."]
    words = client.ok(client.get(f"{at}/pages/3/words"))["words"]
    assert [whole["text"][start:end] for start, end, *_ in words] == ["It", "is", "a", "small", "ship."]
    assert client.ok(client.get(f"{at}/pages/2/words"))["words"] == []
    image = client.get(f"{at}/pages/1/image?width=200")
    assert (image.status_code, image.headers["content-type"], image.content[:2]) == (200, "image/jpeg", b"\xff\xd8")


@pytest.mark.parametrize(("path", "status"), [
    ("pages/4/words", 404), ("pages/0/image", 404), ("pages/1/image?width=9999", 422), ("pages/x/words", 422),
])  # fmt: skip
def test_what_is_not_there_is_told(client: Client, path: str, status: int) -> None:
    client.upload("ferry.pdf", FERRY)
    assert client.get(f"/api/documents/1/{path}").status_code == status
    assert client.get("/api/documents/2/pages").status_code == 404


def test_a_text_has_no_pages(client: Client) -> None:
    number = client.upload()["id"]
    assert not client.ok(client.get(f"/api/documents/{number}"))["page_images"]
    response = client.get(f"/api/documents/{number}/pages")
    assert response.status_code == 404
    assert "its text is there" in response.json()["error"]["hint"].lower()
    assert kept(client) == []


def test_slides_are_shown_as_their_text(client: Client) -> None:
    given = client.upload("deck.pptx", deck())
    assert given["pages"] == 2
    assert not client.ok(client.get(f"/api/documents/{given['id']}"))["page_images"]
    assert client.get(f"/api/documents/{given['id']}/pages").status_code == 404
    assert kept(client) == []


def test_the_file_goes_with_its_document(client: Client) -> None:
    number = client.upload("ferry.pdf", FERRY)["id"]
    other = client.upload("other.pdf", FERRY)["id"]
    assert len(kept(client)) == 2
    client.delete(f"/api/documents/{number}")
    assert len(kept(client)) == 1
    assert client.ok(client.get(f"/api/documents/{other}/pages"))


def test_a_pdf_that_lost_its_file_is_a_text_until_it_is_given_again(client: Client) -> None:
    number = client.upload("ferry.pdf", FERRY)["id"]
    for file in kept(client):
        file.unlink()
    assert not client.ok(client.get(f"/api/documents/{number}"))["page_images"]
    assert client.upload("ferry.pdf", FERRY)["id"] == number
    assert client.ok(client.get(f"/api/documents/{number}"))["page_images"]


def test_files_whose_documents_were_removed_elsewhere_go_at_the_next_start(client: Client) -> None:
    client.upload("ferry.pdf", FERRY)
    stray = Uploads().folder / "files" / "99-0011223344556677.pdf"
    stray.write_bytes(FERRY)
    Uploads()
    assert len(kept(client)) == 1
    assert not stray.exists()


def test_a_disk_that_takes_no_file_is_told_and_the_text_is_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wim_edge.server.uploads.replace_file", full)
    given = client.upload("ferry.pdf", FERRY)
    assert any("cannot be shown as images" in note for note in given["notes"])
    assert "ferry" in client.ok(client.get(f"/api/documents/{given['id']}"))["text"]
