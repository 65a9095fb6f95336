"""A small library, in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.documents import Document
from wim_edge.library.library import Library

LONG = "".join(f"Sentence number {n} speaks of the weather and nothing else at all. " for n in range(200))
DOCUMENTS = [
    ("Ferry", "The ferry sails at noon. It is a small ship with room for nine."),
    ("Lighthouse", "The lighthouse was built in 1904. It burned down twice."),
    ("Almanac", LONG + "The ferry of Norra was sold in 1933. " + LONG),
    ("Ferry", "Another ferry crosses the lake every hour."),
]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path))
    made = Library("port", create=True)
    made.put("rows", 0, 0, [(title, Document(title, text)) for title, text in DOCUMENTS])
    return made
