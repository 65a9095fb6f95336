"""Libraries that are asked are compared with their files first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.library.conftest import documents
from wim_edge.library import in_step
from wim_edge.library.in_step import InStep
from wim_edge.library.ingest import add
from wim_edge.library.library import Library
from wim_edge.settings import Limits


def test_what_changed_is_read_before_a_question_and_what_is_gone_stays(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    list(add(library, [folder]))
    (folder / "a.txt").write_text("changed")
    (folder / "b.txt").unlink()
    compared = InStep()
    gone = "library papers: a file is gone or left out, and its text still answers; wim-edge library sync papers"
    assert compared.bring(library, Limits()) == gone
    assert documents(library) == {"a": "changed", "b": "b"}
    (folder / "a.txt").write_text("once more")
    assert compared.bring(library, Limits()) == ""
    assert documents(library)["a"] == "changed"  # it was compared a moment ago
    assert InStep().bring(library, Limits()) == gone
    assert documents(library)["a"] == "once more"


def test_a_renamed_file_answers_once(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# The ferry\n\nIt sails at noon.")
    list(add(library, [folder]))
    (folder / "a.md").rename(folder / "b.md")
    assert InStep().bring(library, Limits()) == ""
    assert list(documents(library)) == ["The ferry"]


def test_what_takes_long_waits_and_is_told(home: Path, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "a.txt").write_text("a")
    list(add(library, [home / "a.txt"]))
    (home / "a.txt").write_text("changed")
    monkeypatch.setattr(in_step, "SECONDS", 0.0)
    assert InStep().bring(library, Limits()) == (
        "library papers: a file is new or has changed, and was not read yet; wim-edge library sync papers"
    )
    assert documents(library)["a"] == "a"
