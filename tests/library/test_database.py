"""A library's database when its process is killed, and where nobody can write to it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.library.conftest import documents
from wim_edge.documents import Document
from wim_edge.library.library import Library

_KILLED = """
import os, signal, sys
from pathlib import Path
from wim_edge.documents import Document
from wim_edge.library.library import Library
def documents():
    for number in range(1000):
        if number == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        yield f"Title {number}", Document("d", f"Words of number {number}.")
Library("papers").put("rows", 1, 2, documents())
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_while_adding(home: Path, library: Library) -> None:
    library.put("before", 0, 0, [("Before", Document("Before", "It stays."))])
    version = library.version
    killed = subprocess.run([sys.executable, "-c", _KILLED], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert set(documents(library)) == {"Before"}
    assert library.version == version
    assert library.search("words number", 5) == []
    assert library.put("rows", 1, 2, [("Title", Document("d", "Words."))]) == 1
    assert len(library.search("words", 5)) == 1


def test_a_library_that_cannot_be_written_can_be_asked(
    home: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.put("a", 0, 0, [("Lighthouse", Document("Lighthouse", "It was built in 1904."))])
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as on a read-only disk, for root too
    opened: list[str] = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda where, **more: (opened.append(where), connect(where, **more))[1])
    again = Library("papers")
    assert [hit.document for hit in again.search("lighthouse", 3)] == [1]
    assert all(where.endswith("immutable=1") for where in opened)
