"""The API's documents: given, shown, let go of, what cannot be read, and a PDF's pages, kept with it; libraries."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.conftest import written
from tests.documents.make import deck, pdf
from tests.server.conftest import Client, types
from tests.server.slow import SMALL, Slow
from wim_edge.documents import Document
from wim_edge.library.library import Library, folder_of
from wim_edge.server.uploads import LIBRARY, AllowedFolders, Uploads
from wim_edge.settings import Paths

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
    return list(folder_of(LIBRARY).glob("files/*"))


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


@pytest.mark.parametrize(("name", "n_pages"), [("story.txt", None), ("deck.pptx", 2)])
def test_texts_and_slides_are_shown_as_their_text(client: Client, name: str, n_pages: int | None) -> None:
    given = client.upload(name, deck() if n_pages else "The ferry sails at noon.")
    assert given["pages"] == n_pages
    assert not client.ok(client.get(f"/api/documents/{given['id']}"))["page_images"]
    response = client.get(f"/api/documents/{given['id']}/pages")
    assert response.status_code == 404
    assert "its text is there" in response.json()["error"]["hint"].lower()
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
    stray = written(folder_of(LIBRARY) / "files" / "99-0011223344556677.pdf", FERRY)
    Uploads(AllowedFolders(()), SMALL)
    assert len(kept(client)) == 1
    assert not stray.exists()


def test_a_disk_that_takes_no_file_is_told_and_the_text_is_there(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr("wim_edge.server.uploads.replace_file", full)
    given = client.upload("ferry.pdf", FERRY)
    assert any("cannot be shown as images" in note for note in given["notes"])
    assert "ferry" in client.ok(client.get(f"/api/documents/{given['id']}"))["text"]


# Names, kept as given however the client writes them

LONG = "文" * 83 + ".txt"  # 253 bytes


@pytest.mark.parametrize(("header", "name"), [
    (f'filename="{LONG}"', LONG),
    ('filename="a%22b%20c.txt"', 'a"b%20c.txt'),  # as browsers escape
    ('filename="a%20%E6%96%87.txt"', "a 文.txt"),  # as aiohttp does
    ('filename="a %E6%96%87.txt"', "a %E6%96%87.txt"), ('filename="%FF.txt"', "%FF.txt"),
    ("filename*=UTF-8''%E6%96%87%3B.txt", "文;.txt"),
    ("filename=\"x.txt\"; filename*=utf-8'en'%E6%96%87.txt", "文.txt"),
    ("filename*=iso-8859-1''%FCb.txt; filename=x.txt", "üb.txt"),
    ("filename=\"a; filename*=UTF-8''b.txt\"", "a; filename*=UTF-8''b.txt"),
])  # fmt: skip
def test_a_name_is_kept_as_given(client: Client, header: str, name: str) -> None:
    response = post(client, header, "The ferry sails: ü.".encode())
    assert (response["file"], response["chars"]) == (name, 19)


@pytest.mark.parametrize("value", ["UTF-8''%FF.txt", "no-charset''a.txt", "a.txt"])
def test_a_name_that_cannot_be_decoded_is_an_error(client: Client, value: str) -> None:
    error = post(client, f"filename*={value}", b"words", 400)["error"]
    assert error["message"] == "filename* of the upload cannot be decoded"


@pytest.mark.parametrize(("content", "status"), [(b"no form", 400), (b"--b\r\n\r\nwords\r\n--b--\r\n", 400),
                                                 (b"--b--\r\n", 422)])  # fmt: skip
def test_a_form_without_a_file_is_an_error(client: Client, content: bytes, status: int) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b"}
    assert client.post("/api/documents", content=content, headers=headers).status_code == status


def post(client: Client, header: str, data: bytes, status: int = 201) -> dict[str, Any]:
    body = f'--b\r\nContent-Disposition: form-data; name="file"; {header}\r\n\r\n'.encode() + data + b"\r\n--b--\r\n"
    response = client.post("/api/documents", content=body, headers={"content-type": "multipart/form-data; boundary=b"})
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


# Libraries: listed, asked beside documents, and their documents shown; the files of named folders

@pytest.fixture
def port(client: Client) -> Library:
    library = Library("port", create=True)
    library.put("/a", [("Ferry", Document("Ferry", "The ferry of Norra is painted red. It sails at noon."))])
    library.put("/b", [("Train", Document("Train", "The train leaves at one from the other side."))])
    return library


@pytest.mark.usefixtures("port")
def test_libraries_are_listed_without_what_was_given_or_holds_nothing(client: Client) -> None:
    client.upload()
    Library("empty", create=True)
    assert client.ok(client.get("/api/libraries")) == [{"name": "port", "documents": 2, "has_files": False}]


@pytest.mark.usefixtures("port")
def test_a_damaged_library_keeps_no_other_from_being_listed(client: Client) -> None:
    Library("bad", create=True)
    (Paths.from_environment().libraries / "bad" / "documents.sqlite").write_bytes(b"no database" * 99)
    assert [one["name"] for one in client.ok(client.get("/api/libraries"))] == ["port"]


@pytest.mark.usefixtures("port")
def test_a_library_is_asked_and_what_was_recalled_is_shown(client: Client) -> None:
    body = {"documents": [], "library": "port", "question": "Which colour is the ferry of Norra?"}
    asked = client.ok(client.post("/api/questions", json=body))
    assert asked["library"] == "port"
    assert client.wait(asked["id"])["state"] == "done"
    told = client.told(asked["id"])
    assert types(told).index("recall.passages") < types(told).index("reading.started")
    (name,) = next(event for event in told if event["type"] == "reading.started")["documents"][:1]
    whole = client.ok(client.get("/api/libraries/port/document", params={"name": name}))
    assert whole["text"].startswith("The ferry")
    assert not whole["page_images"]
    assert [one["id"] for one in client.ok(client.get("/api/questions?library=port"))] == [asked["id"]]
    assert client.ok(client.get("/api/questions?library=other")) == []


@pytest.mark.usefixtures("port")
def test_a_library_is_asked_together_with_documents(client: Client) -> None:
    number = client.upload("story.txt", "The boat of Sandvik is painted green.")["id"]
    body = {"documents": [number], "library": "port", "question": "Which colour is the ferry of Norra?"}
    asked = client.ok(client.post("/api/questions", json=body))
    assert client.wait(asked["id"])["state"] == "done"
    started = next(e for e in client.told(asked["id"]) if e["type"] == "reading.started")
    assert started["documents"][0] == "story"
    assert "Ferry" in started["documents"]


@pytest.mark.parametrize(("body", "status"), [
    ({"documents": [], "library": "gone", "question": "a?"}, 404),
    ({"documents": [], "library": "../x", "question": "a?"}, 400),
    ({"documents": [], "question": "a?"}, 400),
])  # fmt: skip
def test_what_cannot_be_asked_is_told_at_once(client: Client, body: dict[str, object], status: int) -> None:
    assert client.post("/api/questions", json=body).status_code == status
    assert client.ok(client.get("/api/questions")) == []


@pytest.mark.usefixtures("port")
@pytest.mark.parametrize(
    "path", ["port/document?name=Boat", "gone/document?name=Ferry", "port/document?name=%27%20OR%201"]
)
def test_a_document_that_is_not_there(client: Client, path: str) -> None:
    assert client.get(f"/api/libraries/{path}").status_code == 404


def test_files_of_named_folders_are_listed_and_named(client: Client, folder: Path) -> None:
    (folder / "sub").mkdir()
    for name in ("a.txt", "sub/b.md", "c.bin"):
        (folder / name).write_text("The ferry sails at noon.")
    listed = client.ok(client.get("/api/files"))
    assert [one["name"] for one in listed] == ["a.txt", "sub/b.md"]
    assert all(one["folder"] == str(folder.resolve()) for one in listed)
    for one in listed:
        named = client.ok(client.post("/api/documents/named", json={"path": one["path"]}))
        assert named["file"] == Path(one["name"]).name


def test_a_library_is_brought_in_step_and_tells_of_each_file(client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    written(folder / "ferry.txt", "The ferry of Norra is painted red.")
    Library("bay", create=True).add_root(folder)
    assert client.ok(client.get("/api/libraries")) == [{"name": "bay", "documents": 0, "has_files": True}]
    told = client.events("/api/libraries/bay/sync", method="POST")
    assert [(event["type"], event.get("state")) for event in told] == [("sync.file", "added"), ("sync.finished", None)]
    assert told[0]["path"] == str(folder / "ferry.txt")
    assert told[1]["files"] == {"added": 1}
    (folder / "train.pdf").write_bytes(b"%PDF-1.4 broken")
    (folder / "ferry.txt").unlink()
    told = client.events("/api/libraries/bay/sync", method="POST")
    assert {event["state"]: event["note"] != "" for event in told[:-1]} == {"failed": True, "removed": False}
    assert client.post("/api/libraries/nowhere/sync").status_code == 404
