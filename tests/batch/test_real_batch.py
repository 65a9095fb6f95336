"""`wim-edge batch` as a user runs it; on a cluster of several machines: test_cluster.py."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.real

QUESTIONS = ("Who built the wall?", "How many stones has it?")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "documents", 4)


def write_documents(folder: Path, n: int) -> Path:
    folder.mkdir()
    for number in range(n):
        text = " ".join(f"Mason {n} of village {number} set {n + number} stones into the long wall." for n in range(5))
        (folder / f"{number}.txt").write_text(text)
    return folder


def wim_edge(*arguments: str | Path, code: int = 0) -> str:
    command = [sys.executable, "-m", "wim_edge", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def batch(documents: Path, out: Path, model: Path, *more: str) -> list[dict[str, Any]]:
    asked = [part for question in QUESTIONS for part in ("--question", question)]
    common = ("--model", str(model), "--judge", "self", "--threads", "1", "--answer-tokens", "6")
    wim_edge("batch", "--each-document", documents, *asked, "--out", out, *common, *more)
    return rows(out)


def test_a_cluster_of_this_machine_alone_is_begun_and_ended(model_file: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "wall.txt").write_text("Mason 7 set the last stone into the long wall of the village. " * 8)
    rows_of = [{"document": "wall.txt", "question": question} for question in QUESTIONS]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows_of)))
    command = [sys.executable, "-m", "wim_edge", "batch", str(tmp_path / "q.jsonl"), "--out", str(tmp_path / "out"),
               "--model", str(model_file("llama")), "--judge", "self", "--threads", "1", "--answer-tokens", "4",
               "--ray", "local", "--ray-actors", "1"]  # fmt: skip
    with tempfile.TemporaryDirectory() as own:  # tmp_path is too long for Ray's sockets
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=600, check=False,
                              env={**os.environ, "RAY_TMPDIR": own})  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert list(Path(own).glob("ray/session_*"))
        assert not [one for one in psutil.process_iter(["cmdline"]) if own in " ".join(one.info["cmdline"] or ())]
    assert "1 actor of 1 CPU on 1 machine\n" in done.stderr
    assert "2 of 2 answered, 0 failed" in done.stdout
    first, second = rows(tmp_path / "out")
    assert first["worker"] == second["worker"]
    assert first["worker"].startswith(f"{socket.gethostname()}/")
    assert first["answer"]
    assert first["usage"]["reused_tokens"] == second["usage"]["prefilled_tokens"] == 0
    assert second["usage"]["reused_tokens"] == first["usage"]["prefilled_tokens"] > 0


def test_a_batch_that_is_killed_goes_on(documents: Path, tmp_path: Path, smollm2: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "wim_edge", "batch", "--each-document", str(documents), "--question", QUESTIONS[0],
               "--out", str(out), "--model", str(smollm2), "--judge", "self", "--threads", "1", "--answer-tokens",
               "12"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    for line in process.stderr:
        if line.startswith("2 of 4"):
            process.kill()
            break
    process.communicate(timeout=60)
    before = rows(out)
    done = subprocess.run([*command, "--debug"], check=True, timeout=600, capture_output=True, encoding="utf-8")
    assert f"{len(before)} of 4 asked before" in done.stderr
    assert "wim_edge.llama: " in done.stderr  # of the process that answers
    after = rows(out)
    assert len(after) == 4
    assert 2 <= len(before) <= 4
    assert [row for row in after if row["id"] in {old["id"] for old in before}] == before  # nothing of it again


@pytest.mark.skipif(sys.platform == "win32", reason="there SIGTERM is no signal")
def test_what_is_not_to_be_kept_goes_when_it_is_ended(documents: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "wim_edge", "batch", "--each-document", str(documents), "--question", QUESTIONS[0],
               "--out", str(tmp_path / "out"), "--no-save", "--model", "smollm2-135m", "--threads", "1"]  # fmt: skip
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=environment)
    process.stderr.readline()  # the first row
    assert any((tmp_path / "tmp").rglob("*.reading"))
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list((tmp_path / "tmp").iterdir()) == []
    assert len(rows(tmp_path / "out")) >= 1


def test_a_wrong_model_ends_it_at_once(documents: Path, tmp_path: Path) -> None:
    asked = ("--each-document", documents, "--question", "Why?", "--out", tmp_path / "out")
    wim_edge("batch", *asked, "-m", "none", code=4)
    assert not (tmp_path / "out").exists()
