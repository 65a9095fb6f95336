"""The pages of a PDF over HTTP: kept with its document, and gone with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.make import deck, pdf
from tests.server.conftest import Client
from wim_edge.server.uploads import Uploads

FERRY = pdf(b"The ferry sails at noon.", b"", b"It is a small ship.")


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
