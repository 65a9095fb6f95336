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

from tests.conftest import ROOT

pytestmark = pytest.mark.real
WORKER, GPL = ROOT / "examples" / "worker", ROOT / "examples" / "gpl-3.0.txt"


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
    question = "How long must the written offer for source code be valid?"
    done = node("ask.mjs", str(GPL), question, "--within", "all", folder=tmp_path)
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


PLAYED = """import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "ask":
        kinds = ["queued"] if request["question"] == "wait" else ["queued", "answer.finished"]
        for kind in kinds:
            print(json.dumps({"id": request["id"], "type": kind}), flush=True)
"""
HOST = """
import {{ Worker }} from '{host}'
const worker = new Worker([], '{command}')
async function last (question) {{
  let event
  for await (event of worker.ask([], question)) if (event.type === 'queued' && question === 'wait') worker.kill()
  return event.type
}}
const told = [await last('a')]
worker.close()
told.push(await last('b'))
worker.kill()
told.push(await last('c'), await last('wait'), await last('d'))
for await (const event of worker.ask([], 'e')) {{ told.push(event.type); worker.close(); break }}
console.log(JSON.stringify(told))
"""


def test_what_comes_after_a_process_is_not_told_of_its_end(tmp_path: Path) -> None:
    """A worker that is played: closed or killed, it fails its own requests, and none that came later."""
    found = shutil.which("node") or pytest.skip("no Node on this machine")
    (tmp_path / "played.py").write_text(PLAYED)
    (tmp_path / "played").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/played.py"\n')
    (tmp_path / "played").chmod(0o755)
    (tmp_path / "host.mjs").write_text(HOST.format(host=WORKER / "worker.mjs", command=tmp_path / "played"))
    done = subprocess.run([found, tmp_path / "host.mjs"], capture_output=True, text=True, check=False, timeout=60)
    answered = "answer.finished"
    assert json.loads(done.stdout) == [answered, answered, answered, "error", answered, "queued"], done.stderr
