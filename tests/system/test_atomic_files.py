"""A file is the old one or the new one, however the write ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from wim_edge.system.atomic_files import replace_file, write_json, write_text

OLD, NEW = "the old text", "the new text"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.txt"
    path.write_text(OLD)
    return path


def test_the_new_file_replaces_the_old_one(file: Path) -> None:
    with replace_file(file) as part:
        part.write_text(NEW)
        assert file.read_text() == OLD
    assert file.read_text() == NEW
    assert list(file.parent.iterdir()) == [file]


def _write(file: Path, *, fail: BaseException | None = None) -> None:
    with replace_file(file) as part:
        part.write_text(NEW)
        if fail is not None:
            raise fail


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("at", ["write", "sync", "rename"])
def test_an_error_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, at: str
) -> None:
    fail = Mock(side_effect=error)
    with monkeypatch.context() as patch:
        if at == "sync":
            patch.setattr("os.fsync", fail)
        elif at == "rename":
            patch.setattr(Path, "replace", fail)
        with pytest.raises(type(error)):
            _write(file, fail=error if at == "write" else None)
    assert file.read_text() == OLD
    assert list(file.parent.iterdir()) == [file]


_KILLED = """
import os, signal, sys
from pathlib import Path
from wim_edge.system.atomic_files import replace_file

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "written":
    os.fsync = die
elif sys.argv[2] == "on the disk":
    Path.replace = die
with replace_file(Path(sys.argv[1])) as part:
    part.write_text("half of it")
    if sys.argv[2] == "half written":
        die()
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("moment", ["half written", "written", "on the disk"])
def test_a_kill_leaves_the_old_file(file: Path, moment: str) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(file), moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert file.read_text() == OLD
    (left,) = set(file.parent.iterdir()) - {file}
    write_text(file, NEW)
    assert left.exists()  # another process may be writing it
    os.utime(left, (0, 0))
    theirs = file.with_name("film.part")
    theirs.touch()
    os.utime(theirs, (0, 0))
    write_text(file, NEW)
    assert file.read_text() == NEW
    assert set(file.parent.iterdir()) == {file, theirs}


@pytest.mark.skipif(os.name == "nt", reason="no such permissions")
def test_a_private_file_is_the_users_alone(file: Path) -> None:
    with replace_file(file, private=True) as part:
        assert part.stat().st_mode & 0o077 == 0
    assert file.stat().st_mode & 0o077 == 0


def test_a_missing_folder_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_text(tmp_path / "none" / "file", NEW)


def test_paths_that_are_not_utf8_are_written(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"command": "wim-edge --out o\udc80"})
    assert json.loads((tmp_path / "x.json").read_text()) == {"command": "wim-edge --out o\udc80"}
