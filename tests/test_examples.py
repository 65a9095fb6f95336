"""The examples, run as a user would: the worker from Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real
WORKER = Path(__file__).parent.parent / "examples" / "worker"


def node(script: str, *args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node on this machine")
    (folder / "a.txt").write_text("The ferry sails at noon. The lighthouse was built in 1904.")
    environment = {**os.environ, "WIM_EDGE": str(Path(sys.executable).parent / "wim-edge")}
    return subprocess.run(
        [found, str(WORKER / script), *args, "--model", "smollm2-135m"],
        capture_output=True, text=True, cwd=folder, env=environment, check=False, timeout=120,
    )  # fmt: skip


def test_a_question_from_node(tmp_path: Path) -> None:
    done = node("ask.mjs", "a.txt", "When was the lighthouse built?", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1904" in done.stdout
    assert "source: a.txt:1" in done.stdout
    assert "margin: " in done.stderr


def test_an_error_is_told_to_node(tmp_path: Path) -> None:
    done = node("ask.mjs", "none.txt", "When?", folder=tmp_path)
    assert done.returncode == 1
    assert "error: none.txt: no such file" in done.stderr


def test_a_crash_costs_one_question_and_nothing_that_was_kept(tmp_path: Path) -> None:
    done = node("check.mjs", "a.txt", "When was the lighthouse built?", folder=tmp_path)
    found = json.loads(done.stdout)
    assert found["answers"] == ["answer.finished", "answer.finished", "error", "answer.finished"]
    assert found["after_crash_read_tokens"] == 0
