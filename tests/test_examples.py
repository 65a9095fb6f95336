"""The examples, run as a user would: the worker from Node."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real
EXAMPLES = Path(__file__).parent.parent / "examples"
WORKER, GPL = EXAMPLES / "worker", EXAMPLES / "gpl-3.0.txt"


def node(script: str, *args: str, folder: Path) -> subprocess.Popen[str]:
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node on this machine")
    (folder / "a.txt").write_text("The ferry sails at noon. The lighthouse was built in 1904.")
    environment = {**os.environ, "WIM_EDGE": str(Path(sys.executable).parent / "wim-edge")}
    return subprocess.Popen(
        [found, str(WORKER / script), *args, "--model", "smollm2-135m"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=folder, env=environment, start_new_session=True,
    )  # fmt: skip


def test_a_question_from_node(tmp_path: Path) -> None:
    done = node("ask.mjs", "a.txt", "When was the lighthouse built?", folder=tmp_path)
    said, told = done.communicate(timeout=120)
    assert done.returncode == 0, told
    assert "1904" in said
    assert "source: a.txt:1" in said
    assert "margin: " in told


def test_an_error_is_told_to_node(tmp_path: Path) -> None:
    done = node("ask.mjs", "none.txt", "When?", folder=tmp_path)
    _, told = done.communicate(timeout=120)
    assert done.returncode == 1
    assert "error: none.txt: no such file" in told


def test_ctrl_c_has_node_answer_from_what_was_read(tmp_path: Path) -> None:
    """A terminal sends it to the whole group: the worker must not be in it."""
    done = node("ask.mjs", str(GPL), "What may be charged for a copy?", "--within", "all", folder=tmp_path)
    assert done.stderr is not None
    assert done.stderr.readline().startswith("margin: ")
    os.killpg(done.pid, signal.SIGINT)
    said, told = done.communicate(timeout=120)
    assert done.returncode == 0, told
    assert "gpl-3.0.txt:" in said


def test_a_crash_costs_one_question_and_nothing_that_was_kept(tmp_path: Path) -> None:
    done = node("check.mjs", "a.txt", str(GPL), "When was the lighthouse built?", folder=tmp_path)
    found = json.loads(done.communicate(timeout=120)[0])
    assert found["answers"] == ["answer.finished", "answer.finished", "error", "answer.finished"]
    assert found["after_crash_read_tokens"] == 0
    assert found["first_event_ms"] > 0
