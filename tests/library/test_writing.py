"""Documents in the tables of a library: their names, and words that are deleted as they were inserted."""

from __future__ import annotations

import os
from pathlib import Path

from tests.library.conftest import documents, write_rows
from wim_edge.documents import Document
from wim_edge.library.ingest import add
from wim_edge.library.library import Library


def test_a_name_that_another_document_has_taken_meanwhile(home: Path, library: Library) -> None:
    library.put("a", 0, 0, [("A", Document("A", "One."))])
    library.put("b", 0, 0, [("A (2)", Document("A (2)", "Two."))])
    library.put("b", 1, 1, [("A", Document("A", "Three.")), ("A (2)", Document("A (2)", "Two."))])
    assert sorted(documents(library).values()) == ["One.", "Three.", "Two."]


def test_nul_and_equal_words_survive_changes(home: Path, library: Library) -> None:
    path = write_rows(home / "p.jsonl", {"title": "a\0b", "text": "alpha\0 gamma delta"})
    (home / "m.txt").write_text("gamma rays")
    list(add(library, [path, home / "m.txt"]))
    assert len(library.search("gamma", 9)) == 2
    library.remove(str(path))
    assert len(library.search("gamma", 9)) == 1
    assert list(library.sources()) == [str(home / "m.txt")]


def test_names_stay_when_files_change(home: Path, library: Library) -> None:
    for n in (1, 2, 3):
        write_rows(home / f"{n}.jsonl", {"title": "Same", "text": f"Text {n}."})
    paths = [home / f"{n}.jsonl" for n in (1, 2, 3)]
    list(add(library, paths))
    write_rows(paths[1], {"title": "Same", "text": "Another text."})
    list(add(library, paths))
    assert documents(library) == {"Same": "Text 1.", "Same (2)": "Another text.", "Same (3)": "Text 3."}


def test_many_equal_titles_are_added_again_in_no_time(home: Path, library: Library) -> None:
    for name in "ab":
        write_rows(home / f"{name}.jsonl", *({"title": "T", "text": f"{name} {n}"} for n in range(1500)))
    paths = [home / "a.jsonl", home / "b.jsonl"]
    list(add(library, paths))
    os.utime(paths[0], (1, 1))
    list(add(library, paths))
    assert len(documents(library)) == 3000
