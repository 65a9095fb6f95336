"""Files that were written again, whatever their times say."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from wim_edge.library.file_state import digest_of, has_changed, state_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rates.md"
    made.write_text("The fee is 55 euros.")
    os.utime(made, ns=(1, 1))
    return made


@pytest.mark.parametrize("instead", [True, False])
def test_the_same_size_and_time_of_other_bytes(path: Path, instead: bool) -> None:
    before = state_of(path.stat(), digest_of(path))
    if instead:
        path.rename(path.with_name("old"))
    path.write_text("The fee is 70 euros.")
    os.utime(path, ns=(1, 1))
    now = state_of(path.stat())
    assert (now.mtime_ns, now.size) == (before.mtime_ns, before.size)
    assert now.stamp != before.stamp
    assert has_changed(path, before)
    assert not has_changed(path, replace(before, digest=b"")), "an earlier version knows the time and the size alone"


def test_the_same_bytes_of_another_time_are_no_change(path: Path) -> None:
    before = state_of(path.stat(), digest_of(path))
    os.utime(path, ns=(2, 2))
    assert not has_changed(path, before)
    assert has_changed(path, replace(before, digest=b""))


def test_a_time_that_the_database_cannot_store(path: Path) -> None:
    os.utime(path, ns=(0, 2**63 + 10**9))
    assert state_of(path.stat()).mtime_ns == 2**63 - 1
