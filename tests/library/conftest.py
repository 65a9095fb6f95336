"""A library of its own for each test, and what it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wim_edge.library.library import Library


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def library() -> Library:
    return Library("papers", create=True)


def documents(library: Library) -> dict[str, str]:
    kept = library.documents([number for number, _ in library.digests()])
    return {one.document.name: one.document.text for one in kept}


def papers(home: Path, **texts: str) -> Path:
    """Returns a folder with a text file of each name."""
    folder = home / "papers"
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.txt").parent.mkdir(exist_ok=True, parents=True)
        (folder / f"{name}.txt").write_text(text)
    return folder


def write_rows(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
