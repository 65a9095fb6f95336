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


def test_a_question_sees_what_is_there_now(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.txt").write_text(name)
    list(add(library, [folder]))
    (folder / "a.txt").write_text("changed")
    (folder / "b.txt").unlink()
    (folder / "e.txt").write_text("e")
    (folder / ".wimignore").write_text("c.txt\n")
    compared = InStep()
    told = "library papers: new: e.txt; changed: a.txt; deleted or left out: b.txt, c.txt"
    assert compared.bring(library, Limits()) == told
    assert documents(library) == {"a": "changed", "d": "d", "e": "e"}
    (folder / "a.txt").write_text("once more")
    assert compared.bring(library, Limits()) == ""
    assert documents(library)["a"] == "changed"  # it was compared a moment ago
    assert InStep().bring(library, Limits()) == "library papers: changed: a.txt"


def test_what_may_be_on_a_disk_that_is_not_there_stays(home: Path, library: Library) -> None:
    folder, alone = home / "papers", home / "alone.txt"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.txt").write_text(name)
    alone.write_text("alone")
    list(add(library, [folder, alone]))
    for file in (*folder.iterdir(), alone):
        file.unlink()
    told = "library papers: not there, but still in the library: alone.txt, a.txt, b.txt and 2 more"
    assert InStep().bring(library, Limits()) == f"{told}; wim-edge library sync papers"
    assert len(library) == 5
    folder.rename(home / "away")
    assert "not there, but still in the library: alone.txt, papers" in InStep().bring(library, Limits())


def test_what_is_gone_stays_while_another_file_waits(
    home: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "papers"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    list(add(library, [folder]))
    (folder / "a.txt").rename(folder / "c.txt")
    monkeypatch.setattr(in_step, "SECONDS", 0.0)
    (folder / "b.txt").write_text("changed")
    told = "new or changed, but not read yet: b.txt, c.txt; not there, but still in the library: a.txt"
    assert InStep().bring(library, Limits()) == f"library papers: {told}; wim-edge library sync papers"
    assert documents(library) == {"a": "a", "b": "b"}


def test_a_renamed_file_answers_once(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# The ferry\n\nIt sails at noon.")
    list(add(library, [folder]))
    (folder / "a.md").rename(folder / "b.md")
    assert InStep().bring(library, Limits()) == "library papers: moved: b.md"
    assert list(documents(library)) == ["The ferry"]
