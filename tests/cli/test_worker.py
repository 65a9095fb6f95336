"""`wim-edge worker` as a parent starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wim_edge import events
from wim_edge.worker import Worker

pytestmark = pytest.mark.real  # the worker is a process


def test_the_command_serves_a_real_model(smollm2: Path, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "gpl.txt"
    path.write_text(long_text[:1200])
    with Worker(model=smollm2, judge="self", answer_tokens=8) as worker:
        found = list(worker.stream(path, "Who may copy it?"))
        assert isinstance(found[-1], events.AnswerFinished)
        assert found[-1].sources


def test_its_lines_are_utf8_whatever_the_code_page(tmp_path: Path) -> None:
    request = {"id": 1, "do": "ask", "documents": [str(tmp_path / "日本語.txt")], "question": "何?"}
    command = [sys.executable, "-m", "wim_edge", "worker"]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment
    ) as worker:
        worker.stdin.write(json.dumps(request, ensure_ascii=False) + "\n")
        worker.stdin.flush()
        told = next(json.loads(line) for line in worker.stdout if '"error"' in line)
        worker.stdin.close()
    assert "日本語.txt" in told["message"]
