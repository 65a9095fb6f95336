"""Libraries over HTTP: listed, asked beside documents, and their documents shown; the files of named folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.conftest import Client, types
from wim_edge.documents import Document
from wim_edge.library.library import Library
from wim_edge.settings import Paths


@pytest.fixture
def port(client: Client) -> Library:
    library = Library("port", create=True)
    library.put("/a", 0, 9, [("Ferry", Document("Ferry", "The ferry of Norra is painted red. It sails at noon."))])
    library.put("/b", 0, 9, [("Train", Document("Train", "The train leaves at one from the other side."))])
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
    folder.mkdir()
    (folder / "ferry.txt").write_text("The ferry of Norra is painted red.")
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
