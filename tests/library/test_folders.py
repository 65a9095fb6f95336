"""The names of libraries, and the folders that they stand in."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.folders import known_libraries, remove_library
from wim_edge.library.library import Library
from wim_edge.settings import Paths


def test_names_and_libraries_that_are_none(home: Path) -> None:
    assert known_libraries() == []
    with pytest.raises(LibraryError, match="no library papers"):
        Library("papers")
    for name in ("", "..", "a/b", ".a", "a b", "x" * 65, "-a"):
        with pytest.raises(InvalidRequestError, match="no name"):
            Library(name, create=True)
    Library("one", create=True)
    assert known_libraries() == ["one"]
    assert remove_library("one") > 0
    assert known_libraries() == []
    with pytest.raises(LibraryError, match="no library one"):
        remove_library("one")


def test_what_is_not_a_library_is_not_listed(home: Path, library: Library) -> None:
    stray = home / "home" / "libraries" / "a b"
    stray.mkdir()
    (stray / "documents.sqlite").write_bytes(b"")
    assert known_libraries() == ["papers"]


def test_the_folder_is_under_the_libraries(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path / "libraries")
    assert Library("a", paths, create=True).folder == tmp_path / "libraries" / "a"
