"""Databases: a transaction is all or nothing, killed processes too, and what nobody can write can be read."""

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
from wim_edge.library.database import connected, transaction
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
Library("papers").put("rows", documents())
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_while_adding(library: Library) -> None:
    library.put("before", [("Before", Document("Before", "It stays."))])
    version = library.version
    killed = subprocess.run([sys.executable, "-c", _KILLED], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert set(documents(library)) == {"Before"}
    assert library.version == version
    assert library.search("words number", 5) == []
    assert library.put("rows", [("Title", Document("d", "Words."))]) == 1
    assert len(library.search("words", 5)) == 1


def test_a_library_that_cannot_be_written_can_be_asked(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.put("a", [("Lighthouse", Document("Lighthouse", "It was built in 1904."))])
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as on a read-only disk, for root too
    opened: list[str] = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda where, **more: (opened.append(where), connect(where, **more))[1])
    again = Library("papers")
    assert [hit.document for hit in again.search("lighthouse", 3)] == [1]
    assert all(where.endswith("immutable=1") for where in opened)


def rows(path: Path) -> list[int]:
    with connected(path, create=False) as db:
        return [n for (n,) in db.execute("SELECT n FROM t ORDER BY n")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.sqlite"
    with transaction(path) as db:
        db.execute("CREATE TABLE t (n)")
        db.execute("INSERT INTO t VALUES (1)")
    return path


def test_a_transaction_is_all_of_it_or_nothing(table: Path) -> None:
    def fail() -> None:
        with transaction(table) as db:
            db.execute("INSERT INTO t VALUES (2)")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert rows(table) == [1]
    with transaction(table, create=False) as db:
        db.execute("INSERT INTO t VALUES (3)")
    assert rows(table) == [1, 3]


def test_others_read_while_one_writes_and_no_second_one_writes(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.library.database._WAIT", 0.05)
    with transaction(table) as db:
        db.execute("INSERT INTO t VALUES (2)")
        assert rows(table) == [1]
        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(table):
            pass
    assert rows(table) == [1, 2]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    for opens in (connected, transaction):
        with pytest.raises(sqlite3.OperationalError), opens(tmp_path / "none.sqlite", create=False) as db:
            db.execute("SELECT 1")
    assert not list(tmp_path.iterdir())
