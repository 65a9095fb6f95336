"""`wim-edge library add`, `show`, `drop` and `ask --library` on a scripted engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.cli.scripted import give, run
from tests.conftest import written
from tests.library.conftest import papers
from tests.recall.conftest import DOCUMENTS, writes
from wim_edge import loaded_models
from wim_edge.errors import ModelNotFoundError
from wim_edge.library import ingest
from wim_edge.testing import FakeModel


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    fake = FakeModel(writes("Lighthouse", "The lighthouse was built"))
    give(monkeypatch, fake)
    return fake


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in DOCUMENTS))
    return str(path)


def test_add_show_ask_drop(rows: str, tmp_path: Path) -> None:
    result = run("library", "add", "--to", "port", rows, code=0)
    assert "library port: 4 documents; files: 1 added" in result.stdout
    assert "indexing" not in result.stderr, "words need none"
    again = run("library", "add", "--to", "port", "--index", rows)
    assert "files: 1 unchanged" in again.stdout
    assert "indexing 4 documents for fake" in again.stderr
    assert "indexing" not in run("library", "add", "--to", "port", "--index", rows).stderr
    assert run("library", "list").stdout.startswith("port: 4 documents of 1 file,")
    assert run("library", "show", "port").stdout.startswith(f"{rows}: 4 documents")
    (shown,) = json.loads(run("library", "list", "--json").stdout)
    assert (shown["name"], shown["documents"], shown["files"]) == ("port", 4, 1)

    question, voices = "when was the lighthouse built?", ("--retriever", "hybrid", "--recall-passages", "1")
    asked = run("ask", "--library", "port", *voices, question)
    assert asked.exit_code == 0, asked.output
    assert "title: Lighthouse" in asked.stderr
    assert "recalled: Lighthouse, characters 0-" in asked.stdout
    assert "an answer" in asked.stdout
    events = run("ask", "--library", "port", "--json", "when was the lighthouse built?").stdout
    types = [json.loads(line)["type"] for line in events.splitlines()]
    assert types[:3] == ["recall.started", "recall.passages", "reading.started"]

    assert "1 file removed; 0 documents stay" in run("library", "remove", "port", rows).stdout
    assert run("library", "remove", "port", rows).exit_code == 8
    assert run("library", "remove", "port", stdin="n\n").exit_code == 1
    assert "freed" in run("library", "remove", "port", "--yes").stdout
    assert run("library", "list").stdout.startswith("no libraries")
    assert run("library", "remove", "port", "--yes").exit_code == 8


def test_chat_with_a_library(rows: str) -> None:
    run("library", "add", rows)
    result = run("chat", "--library", "default", stdin="when was the lighthouse built?\nand where?\n", code=0)
    assert result.stdout.count("recalled: Lighthouse") == 2
    assert result.stdout.count("an answer") == 2
    assert run("chat", stdin="a?").exit_code == 2
    assert run("chat", "--library", "other", stdin="a?").exit_code == 8


def test_what_failed_is_told_and_the_rest_is_there(rows: str, tmp_path: Path) -> None:
    result = run("library", "add", rows, str(tmp_path / "missing.pdf"), code=3)
    assert "failed" in result.stderr
    assert "1 file could not be added" in result.stderr
    assert "library default: 4 documents" in result.stdout
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("library", "add", "--to", "none", str(folder)).exit_code == 3
    assert "none" not in run("library", "list").stdout  # nothing was added: nothing is made
    (folder / "bad.txt").write_bytes(b"\0\1")
    (folder / "code.odd").write_text("x")
    assert run("library", "add", str(folder)).exit_code == 3
    (folder / "good.txt").write_text("Some words.")
    result = run("library", "add", str(folder))
    assert result.exit_code == 0  # what a folder holds besides is told, and no error
    assert "failed" in result.stderr
    assert "1 file of other kinds skipped (.odd)" in result.stderr


def test_a_damaged_library_hides_no_other_one(rows: str, tmp_path: Path) -> None:
    run("library", "add", "--to", "good", rows)
    run("library", "add", "--to", "bad", rows)
    (tmp_path / "home" / "libraries" / "bad" / "documents.sqlite").write_bytes(b"no database" * 500)
    result = run("library", "list", code=0)
    assert result.stdout.startswith("good: 4 documents")
    assert "remove bad" in result.stderr
    assert "freed" in run("library", "remove", "bad", "--yes").stdout


def test_json_says_what_came_of_each_file(rows: str) -> None:
    (line,) = run("library", "add", "--json", rows).stdout.splitlines()
    assert json.loads(line) == {"path": rows, "state": "added", "documents": 4, "note": ""}


def test_without_a_model_the_documents_are_kept(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    none = ModelNotFoundError("no model is on this disk")
    monkeypatch.setattr(loaded_models.LoadedModels, "model", Mock(side_effect=none))
    result = run("library", "add", "--index", rows, code=0)
    assert "not indexed yet" in result.stderr
    assert run("library", "add", "--model", "x", rows).exit_code == 4


def test_wrong_requests(rows: str) -> None:
    run("library", "add", rows)
    assert run("library", "add", "--to", "../x", rows).exit_code == 2
    assert run("ask", "--library", "other", "a?").exit_code == 8
    assert "There are: default." in run("ask", "--library", "other", "a?").stderr
    assert run("ask", rows, "--retriever", "bm25", "a?").exit_code == 2
    assert run("ask", "--library", "default", "--retriever", "best", "a?").exit_code == 2
    assert run("ask", "--library", "default", "--recall-passages", "0", "a?").exit_code == 2
    assert run("ask", "a?").exit_code == 2
    assert run("library", "show", "other").exit_code == 8
    assert run("library", "remove", "other").exit_code == 8  # before anything is asked
    assert run("library", "add", "").exit_code == 2  # not the current folder
    assert run("library", "remove", "default", "").exit_code == 2
    assert "4 documents" in run("library", "list").stdout


def test_what_is_to_be_dropped_must_be_there(tmp_path: Path) -> None:
    folder = papers(tmp_path, a="Words of a.", b="Words of b.")
    run("library", "add", str(folder))
    result = run("library", "remove", "default", str(folder / "a.txt"), str(folder / "c.txt"), code=8)
    assert f"holds no document of {folder / 'c.txt'}" in result.stderr
    assert "2 documents" in run("library", "list").stdout


def test_equal_titles_are_shown_by_their_names_and_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.md").write_text(f"# Report\n\nThe {name} branch sold nine boats.")
    run("library", "add", str(tmp_path / "a.md"), str(tmp_path / "b.md"))
    shown = run("library", "show", "default").stdout
    assert "a.md: Report," in shown
    assert "b.md: Report (2)," in shown
    asked = run("ask", "--library", "default", "--retriever", "bm25", "What did the b branch sell?").stdout
    assert f": {tmp_path / 'b.md'}:" in asked


def test_a_file_that_changed_is_read_again_before_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "When was the lighthouse built?"
    path = written(tmp_path / "a.txt", "The lighthouse was built in 1904.")
    run("library", "add", str(path))
    path.write_text("The lighthouse was built in 1911.")
    asked = run("ask", "--library", "default", question)
    assert "library default: changed: a.txt" in asked.stderr
    assert "1911" in run("ask", "--library", "default", "--json", question).stdout
    monkeypatch.setattr(ingest, "SECONDS", 0.0)
    path.write_text("First. The lighthouse was built in 1904.")
    asked = run("ask", "--library", "default", question)
    assert "wim-edge library sync default" in asked.stderr
    assert "its file has changed since" in asked.stderr
    path.unlink()
    assert "changed" not in run("ask", "--library", "default", question).stderr


def test_sync_brings_a_library_in_step(tmp_path: Path) -> None:
    folder = papers(tmp_path, a="The lighthouse was built in 1904.")
    assert run("library", "sync", "papers").exit_code == 8
    run("library", "add", "--to", "papers", str(folder))
    (folder / "b.txt").write_text("The ferry sails at noon.")
    (folder / "a.txt").unlink()
    synced = run("library", "sync", "papers", "--index")
    assert "library papers: 1 document; files: 1 added, 1 removed" in synced.stdout
    assert "indexing 1 document" in synced.stderr
    (line,) = run("library", "sync", "papers", "--json").stdout.splitlines()
    assert json.loads(line)["state"] == "unchanged"
    folder.rename(tmp_path / "away")
    gone = run("library", "sync", "papers")
    assert (gone.exit_code, "is missing" in gone.stderr) == (3, True)
    assert "1 document" in gone.stdout


def test_an_empty_folder_is_kept_and_what_is_removed_can_be_restored(tmp_path: Path) -> None:
    folder = papers(tmp_path, a="The text of a.")
    (folder / "of.jsonl").write_text("".join(f'{{"title": "{one}", "text": "The text."}}\n' for one in "bc"))
    run("library", "add", str(folder))
    for file in folder.iterdir():
        file.unlink()
    synced = run("library", "sync")
    assert "3 documents; files: 2 gone" in synced.stdout
    assert "--remove-missing" in synced.stderr
    assert "0 documents; files: 2 removed" in run("library", "sync", "--remove-missing").stdout
    listed = json.loads(run("library", "restore", "default", "--list", "--json").stdout)
    assert sorted(one["name"] for one in listed) == ["a", "b", "c"]
    assert f"restored a: {folder / 'a.txt'}" in run("library", "restore", "default", str(folder / "a.txt")).stdout
    assert "1 document;" in run("library", "sync").stdout
    assert run("library", "restore", "default", "a").exit_code == 8
    assert run("library", "restore", "default", "c").stdout.count("restored ") == 2, "with the rest of its file"
    assert run("library", "restore", "default").stdout == "nothing to restore\n"


def test_watch_syncs_whenever_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watchfiles = pytest.importorskip("watchfiles")
    folder = papers(tmp_path, a="The lighthouse was built in 1904.")
    run("library", "add", "--to", "papers", str(folder))
    roots: list[Path] = []

    def watch(*paths: Path, raise_interrupt: bool) -> Iterator[set[tuple[int, str]]]:
        roots.extend(paths)
        (folder / "b.txt").write_text("The ferry sails at noon.")
        yield {(1, str(folder / "b.txt"))}

    monkeypatch.setattr(watchfiles, "watch", watch)
    synced = run("library", "sync", "papers", "--watch", "--no-index")
    told = [line.partition("files: ")[2] for line in synced.stdout.splitlines()]
    assert told == ["1 unchanged", "1 added, 1 unchanged"]
    assert roots == [folder]
    folder.rename(tmp_path / "away")
    assert "none of the folders of library papers exists" in run("library", "sync", "papers", "--watch").stderr


def test_a_document_that_is_also_named_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "The lighthouse was built in 1904.")
    run("library", "add", str(path))
    result = run("ask", "--library", "default", "--json", str(path), "When was the lighthouse built?")
    started = next(found for line in result.stdout.splitlines() if (found := json.loads(line))["type"] ==
                   "reading.started")  # fmt: skip
    assert started["documents"] == ["a.txt"]


def test_what_goes_wrong_leaves_no_empty_library(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_one", Mock(side_effect=KeyboardInterrupt))
    assert run("library", "add", rows).exit_code == 130
    assert run("library", "list").stdout.startswith("no libraries")


def test_a_file_that_could_not_be_added_is_not_looked_for_again(rows: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert run("library", "add", rows, str(empty), str(tmp_path / "missing")).exit_code == 3
    assert run("library", "sync").exit_code == 0
    Path(rows).write_text("")  # what was there of it stays
    result = run("library", "sync")
    assert (result.exit_code, "failed" in result.output) == (0, True)
    Path(rows).unlink()
    assert "1 removed" in run("library", "sync").output
    assert run("library", "sync").exit_code == 0


def test_what_is_removed_of_a_folder_comes_back_unless_it_is_left_out(tmp_path: Path) -> None:
    folder = papers(tmp_path, a="This is a.", b="This is b.")
    assert run("library", "add", str(folder)).exit_code == 0
    told = run("library", "remove", "default", str(folder / "a.txt"), "--yes").output
    assert f"the next sync adds it from {folder} again, unless {folder / '.wimignore'} excludes it" in told
    assert "1 added" in run("library", "sync").output
    assert "2 files removed" in run("library", "remove", "default", str(folder), "--yes").output
    assert "added" not in run("library", "sync").output
