"""What the programs of others are given to read: a story, and a runtime on the scripted engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reading.story import SMALL, TEXT, reply
from wim_edge import Runtime
from wim_edge.library.ingest import add
from wim_edge.library.library import Library
from wim_edge.testing import FakeModel


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        yield runtime


@pytest.fixture
def story(tmp_path: Path) -> Path:
    (tmp_path / "wall.md").write_text(f"# The wall\n\n{TEXT}")
    return tmp_path / "wall.md"


@pytest.fixture
def library(tmp_path: Path) -> str:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "tide.txt").write_text("The tide turns at six.\nThe harbour is closed then.\n")
    (folder / "bread.txt").write_text("Bread is baked on Monday.\n")
    list(add(Library("papers", create=True), [folder]))
    return "papers"
