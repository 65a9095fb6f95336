"""`wim-edge read` and `readings` on a scripted engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.scripted import SMALL, listed, run
from tests.reading.story import TEXT
from wim_edge.documents import scans
from wim_edge.settings import Paths

pytestmark = pytest.mark.usefixtures("model")


def test_ask_without_saving(story: str) -> None:
    assert run("ask", *SMALL, "--no-save", story, "Which colour?").exit_code == 0
    assert listed() == []


def test_list_remove_clear(story: str) -> None:
    assert run("readings", "list").stdout.startswith("0 readings, 0 MB of at most ")
    run("read", *SMALL, story)
    run("read", *SMALL, "--pattern", "wim-shallow", story)
    first, second = listed()
    assert {first["shape"], second["shape"]} == {"deep", "shallow"}
    table = run("readings", "list").stdout
    assert "story.txt" in table
    assert "2 readings" in table
    assert first["source"] == story
    missing = run("readings", "remove", "99", str(first["id"]))
    assert (missing.exit_code, "there is no reading 99" in missing.stderr) == (8, True)
    assert len(listed()) == 2
    assert run("readings", "remove", str(first["id"])).exit_code == 0
    assert listed() == [second]
    folder = Paths.from_environment().cache / "readings"
    assert list(folder.glob("*.reading"))
    assert run("readings", "clear", stdin="n\n").exit_code == 1
    scans.folder().mkdir(parents=True)
    (scans.folder() / "a.jsonl").touch()
    assert run("readings", "clear", "--yes").exit_code == 0
    assert not scans.folder().exists()
    assert not list(folder.glob("*.reading"))


def test_a_library_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("WIM_EDGE_READINGS", str(tmp_path / "file"))
    for command in (("readings", "list"), ("read", story)):
        result = run(*command, code=8)
        assert "readings cannot be saved" in result.stderr
        assert "hint: " in result.stderr


def test_read_ahead_then_ask(story: str) -> None:
    result = run("read", *SMALL, story, code=0)
    assert result.stderr.splitlines()[-1].startswith("all of ")
    result = run("ask", *SMALL, story, "Which colour?")
    assert "tokens known · 0 tokens read" in result.stderr
    events = [json.loads(line) for line in run("read", *SMALL, "--json", story).stdout.splitlines()]
    assert events[-1]["type"] == "reading.finished"
    assert events[-1]["usage"]["prefilled_tokens"] == 0


def test_each_document_alone_or_all_together(story: str, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(TEXT[:400])
    run("read", *SMALL, story, str(other))
    assert sorted(str(row["title"]) for row in listed()) == ["other.txt", "story.txt"]
    run("read", *SMALL, "--together", story, str(other))
    assert "story.txt, other.txt" in {row["title"] for row in listed()}
