"""Documents in the tables of a library: their names, and words that are deleted as they were inserted."""

from __future__ import annotations

import os
from pathlib import Path

from tests.library.conftest import documents, write_rows
from wim_edge.documents import Document, Mark
from wim_edge.library.ingest import add
from wim_edge.library.library import Library
from wim_edge.library.writing import passages


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


def test_a_heading_stays_with_what_follows_it(library: Library) -> None:
    parts = [f"Room {n}\n\nThe keeper of it is called N{n}. " + "It is dusted at noon. " * 34 for n in range(9)]
    starts = [sum(map(len, parts[:n])) for n in range(9)]
    marks = tuple(Mark(start, section=f"Room {n}") for n, start in enumerate(starts))
    text = "".join(parts)
    library.put("rooms", 0, 0, [("Rooms", Document("Rooms", text, marks))])
    for n in (3, 7):
        best = library.search(f"keeper of room {n}", 1)[0]
        assert text[best.start : best.end].startswith(f"Room {n}\n")
    spans = sorted((hit.start, hit.end) for hit in library.search("keeper dusted", 99))
    assert "".join(text[start:end] for start, end in spans) == text


def test_passages_are_the_whole_text(library: Library) -> None:
    text = "Short. " + "A sentence about the harbour and its pilots. " * 200 + "unbroken" * 400
    library.put("long", 0, 0, [("Long", Document("Long", text))])
    hits = sorted(library.search("harbour unbroken short", 1000), key=lambda hit: hit.start)
    assert all(hit.end - hit.start <= 1000 for hit in hits)
    assert "".join(text[hit.start : hit.end] for hit in hits[:2]) == text[: hits[1].end]


def test_a_section_that_is_hardly_more_than_a_heading_shares_its_passage() -> None:
    text = "Part I\n\n" + "Chapter 1\n\n" + "The harbour is deep. " * 12 + "Chapter 2\n\n" + "The pilots are few. " * 12
    starts = [0, text.index("Chapter 1"), text.index("Chapter 2")]
    document = Document("d", text, tuple(Mark(at, section=str(at)) for at in starts))
    assert [text[start : start + 9] for start, _ in passages(document)] == ["Part I\n\nC", "Chapter 2"]


def test_pages_part_no_passages() -> None:
    text = "A sentence of the harbour. " * 20
    document = Document("d", text, (Mark(0, page=1), Mark(270, page=2)))
    assert list(passages(document)) == [(0, len(text))]
    assert list(passages(Document("d", ""))) == []
