"""Libraries: what they find, their versions, and what damage leaves."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import written
from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.library import Library, known_libraries, remove_library
from wim_edge.settings import Paths


@pytest.mark.parametrize(("query", "found"), [
    ("", ""), ("?!", ""), ('"', ""), ("\0", ""), ("x" * 100_000, ""), ("中文", ""), ("nea*", ""), ("AND OR", ""),
    ("NEAR(", "near"), ("near OR", "near"), ("-far", "far"), ("é 中文", "é"), ("title:far", "title far"),
    ("near AND far", "near far"), ("near NOT far", "near far"), ('"near far"', "near far"), ("near\0far", "near far"),
    ("far) OR (near", "near far"), ("text:near + far", "near far"), ("{title}: near^9", "near title"),
])  # fmt: skip
def test_any_query_is_only_words(library: Library, query: str, found: str) -> None:
    texts = ("near", "far", "é", "title")
    for n, text in enumerate(texts):
        library.put(text, [(f"Number {n}", Document(text, text))])
    hits = library.documents([hit.document for hit in library.search(query, 9)])
    assert {one.document.text for one in hits} == set(found.split())


def test_the_best_passage_comes_first_and_a_title_counts(library: Library) -> None:
    library.put("rows", [
        ("Harbour", Document("Harbour", "Ships lie there.")),
        ("Sea", Document("Sea", "A harbour is near. Much else is said of the sea, of ships, and of the wind.")),
        ("Hill", Document("Hill", "No water.")),
    ])  # fmt: skip
    found = library.documents([hit.document for hit in library.search("what is a harbour", 5)])
    assert [one.title for one in found] == ["Harbour", "Sea"]


def test_a_damaged_library_says_so_and_can_be_dropped(library: Library) -> None:
    written(library.folder / "documents.sqlite", b"not a database" * 1000)
    with pytest.raises(LibraryError, match="papers") as caught:
        Library("papers")
    assert "remove papers" in caught.value.hint
    remove_library("papers")
    assert len(Library("papers", create=True)) == 0


def test_another_format_is_not_touched(library: Library) -> None:
    with sqlite3.connect(library.folder / "documents.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(LibraryError, match="format 99"):
        Library("papers", create=True)


@pytest.mark.skipif(os.name == "nt", reason="no such permissions")
def test_only_the_user_may_look(library: Library) -> None:
    from wim_edge.server.history import History

    History(library.folder / "questions")
    assert library.folder.stat().st_mode & 0o077 == 0
    assert (library.folder / "questions").stat().st_mode & 0o077 == 0


def test_every_change_is_a_version_of_its_own(home: Path, library: Library) -> None:
    library.put("a", [("A", Document("A", "One."))])
    other = home / "home" / "libraries" / "copy"
    shutil.copytree(library.folder, other)
    copy = Library("copy")
    assert copy.version == library.version  # they are the same
    for one, text in ((library, "Two."), (copy, "Three.")):
        one.put("b", [("B", Document("B", text))])
    assert copy.version != library.version


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM version", "UPDATE document SET marks='[[1]'", "UPDATE document SET marks='[[\"x\",2,3]]'",
     "UPDATE document SET text=NULL", "UPDATE document SET digest=NULL", "UPDATE document SET title=x'ff'",
     "UPDATE passage SET end=NULL", "UPDATE passage SET start=-5", "UPDATE passage SET end=9999",
     "UPDATE passage SET document=7", "UPDATE document SET name='Other'",
     "UPDATE document SET text=replace(text,'1904','1905')",
     "PRAGMA user_version=0", "UPDATE document SET name=NULL"],
)  # fmt: skip
def test_damage_inside_is_told(library: Library, damage: str) -> None:
    library.put("a", [("Lighthouse", Document("Lighthouse", "It was built in 1904."))])
    with sqlite3.connect(library.folder / "documents.sqlite") as db:
        db.execute(damage)
    def use() -> None:
        again = Library("papers")
        assert again.version
        again.documents([number for number, _ in again.digests()])
        again.search("lighthouse", 3)

    with pytest.raises(LibraryError) as caught:
        use()
    assert "remove papers" in caught.value.hint


def test_one_that_was_killed_at_its_beginning_holds_nothing_yet(library: Library) -> None:
    library.folder.joinpath("documents.sqlite").unlink()
    library.folder.joinpath("documents.sqlite").touch()
    with pytest.raises(LibraryError, match="holds nothing yet"):
        Library("papers")
    assert len(Library("papers", create=True)) == 0


def test_names_and_libraries_that_are_none(home: Path) -> None:
    assert known_libraries() == []
    with pytest.raises(LibraryError, match="no library papers"):
        Library("papers")
    assert not (home / "home" / "libraries" / "papers").exists()
    for name in ("", "..", "a/b", ".a", "a b", "x" * 65, "-a"):
        with pytest.raises(InvalidRequestError, match="not a library name"):
            Library(name, create=True)
    (pages := Library("one", create=True).folder / "files").mkdir()
    (pages / "1.pdf").write_bytes(bytes(1_000_000))
    assert known_libraries() == ["one"]
    assert remove_library("one") > 1_000_000
    assert known_libraries() == []
    with pytest.raises(LibraryError, match="no library one"):
        remove_library("one")


def test_what_is_not_a_library_is_not_listed(home: Path, library: Library) -> None:
    stray = home / "home" / "libraries" / "a b"
    written(stray / "documents.sqlite", b"")
    assert known_libraries() == ["papers"]


def test_the_folder_is_under_the_libraries(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path / "libraries")
    assert Library("a", paths, create=True).folder == tmp_path / "libraries" / "a"
