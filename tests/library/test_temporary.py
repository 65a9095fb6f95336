"""Folders of readings that are not to be kept: gone at the end, and those of killed processes with the next run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from filelock import FileLock

from wim_edge import Settings
from wim_edge.library.temporary import LOCK, PREFIX, kept_meanwhile, sweep


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left(folder: Path, name: str, seconds: float = 60) -> Path:
    made = folder / f"{PREFIX}{name}"
    made.mkdir()
    (made / "a.reading").write_text("read")
    (made / LOCK).touch()
    os.utime(made / LOCK, (time.time() - seconds,) * 2)
    return made


def test_it_goes_at_the_end(folder: Path) -> None:
    with kept_meanwhile(Settings(save=False)) as settings:
        assert settings.save
        assert settings.readings is not None
        (settings.readings / "a.reading").write_text("read")
        sweep()  # of another one
        assert (settings.readings / "a.reading").exists()
    assert list(folder.iterdir()) == []


def test_what_is_to_be_kept_lies_elsewhere(folder: Path) -> None:
    with kept_meanwhile(Settings()) as settings:
        assert settings == Settings()
    assert list(folder.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(folder: Path) -> None:
    killed, young, alive = left(folder, "killed"), left(folder, "young", 1), left(folder, "alive")
    link = folder / f"{PREFIX}link"
    link.symlink_to(left(folder / "..", f"{folder.name}-elsewhere"))
    with FileLock(alive / LOCK), kept_meanwhile(Settings(save=False)):
        assert not killed.exists()
        assert young.exists()
        assert alive.exists()
        assert (link / "a.reading").exists()
