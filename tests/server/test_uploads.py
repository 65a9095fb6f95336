"""The documents that were given to the server: any name, each once; files of named folders, and of no others."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import written
from tests.server.conftest import Client, serving
from wim_edge.errors import InvalidRequestError
from wim_edge.server.uploads import AllowedFolders


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


def test_files_of_named_folders_alone_can_be_named(client: Client, folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("The ferry sails at noon.")
    secret = written(tmp_path / "secret.txt", "Nobody may read this.")
    (folder / "link.txt").symlink_to(secret)
    os.symlink("loop", folder / "loop")
    first = client.ok(client.post("/api/documents/named", json={"path": str(folder / "a.txt")}))
    again = client.ok(client.post("/api/documents/named", json={"path": str(folder / ".." / "folder" / "a.txt")}))
    assert again["id"] == first["id"]
    (folder / "a.txt").write_text("The ferry sails at one.")
    changed = client.ok(client.post("/api/documents/named", json={"path": str(folder / "a.txt")}))
    assert client.ok(client.get(f"/api/documents/{changed['id']}"))["text"] == "The ferry sails at one."
    told = set()
    for path in (secret, folder / "link.txt", folder / ".." / "secret.txt", folder / "loop", folder, "/etc/passwd",
                 tmp_path / "nothing", "a\0b", "", "~", "a" * 4000):  # fmt: skip
        response = client.post("/api/documents/named", json={"path": str(path)})
        assert response.status_code == 400, path
        told.add(response.json()["error"]["message"])
    assert len(told) == 1  # it does not even tell what is there


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("what", ["file", "folder", "pipe"])
def test_no_other_file_is_read_whatever_is_swapped_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    for one, text in ((folder / "sub", "inside"), (outside, "secret")):
        written(one / "a.txt", text)
    folders = AllowedFolders([folder])
    assert folders.read("sub/a.txt")[1] == b"inside"
    resolved = Path.resolve

    def swap(self: Path, strict: bool = False) -> Path:
        found = resolved(self, strict=strict)
        if what == "folder":
            (folder / "sub").rename(tmp_path / "away")
            (folder / "sub").symlink_to(outside)
        else:
            (folder / "sub" / "a.txt").unlink()
            if what == "file":
                (folder / "sub" / "a.txt").symlink_to(outside / "a.txt")
            else:
                os.mkfifo(folder / "sub" / "a.txt")
        return found

    monkeypatch.setattr(Path, "resolve", swap)
    with pytest.raises(InvalidRequestError, match="no file of a folder"):
        folders.read("sub/a.txt")


@pytest.fixture
def odd(folder: Path) -> Path:
    """A file in a folder, whose names are not UTF-8."""
    path = Path(os.fsdecode(os.path.join(os.fsencode(folder), b"f\xff", b"d\xfc.txt")))
    try:
        written(path, "Some text.")
    except OSError:
        pytest.skip("the file system refuses such a name")
    return path


def test_a_file_whose_name_is_not_utf8_has_a_name_to_use(client: Client, folder: Path, odd: Path) -> None:
    (folder / "good.txt").symlink_to(odd)
    (link, file) = client.ok(client.get("/api/files"))
    assert (file["name"], link["name"]) == (r"f\xff/d\xfc.txt", "good.txt")
    ids = {client.ok(client.post("/api/documents/named", json={"path": path}))["id"]
           for path in (file["path"], file["name"], link["path"])}  # fmt: skip
    assert [one["file"] for one in client.ok(client.get("/api/documents"))] == [r"d\xfc.txt"]
    asked = client.question(documents=tuple(ids))
    assert client.wait(asked["id"])["state"] == "done"
    assert client.told(asked["id"])[-1]["sources"][0]["path"] == file["path"]
    assert AllowedFolders([folder]).files(r"f\xff") == AllowedFolders([folder]).files()[1:] != []


def test_a_folder_whose_name_is_not_utf8(make: Callable[..., Any], odd: Path) -> None:
    with serving(make(folders=[odd.parent])) as address, Client(base_url=address) as client:
        (folder,) = client.ok(client.get("/api/status"))["folders"]
        (file,) = client.ok(client.get("/api/files"))
        assert (folder, file["folder"], file["name"]) == (folder, folder, r"d\xfc.txt")
        assert client.ok(client.post("/api/documents/named", json={"path": file["name"]}))["chars"] == 10
        assert folder in client.post("/api/documents/named", json={"path": "nothing"}).json()["error"]["hint"]
