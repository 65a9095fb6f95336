"""The script that checks a machine with a GPU: what a step finds or fails with is in its file, and nothing hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.script import ROOT, load

check_gpu = load("check_gpu")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="another way to find a GPU")
def test_it_refuses_where_there_is_no_gpu(tmp_path: Path) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
    smi.chmod(0o700)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", str(ROOT / "scripts" / "check_gpu.sh"), "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no GPU here" in done.stderr
    assert "--cpu" in done.stderr
    assert not (tmp_path / "out.json").exists()
    wrong = subprocess.run([*command, "--nonsense"], env=environment, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "--wheel" in wrong.stdout


@pytest.mark.parametrize(
    ("code", "passed", "says"),
    [
        ("print('noise'); print('{\"found\": {\"a\": 1}}')", True, ""),
        ("print('{\"error\": \"a trace\", \"found\": {\"a\": 1}}')", False, "a trace"),
        ("import os, sys; sys.stderr.write('boom'); sys.stderr.flush(); os._exit(3)", False, "ended with 3: boom"),
        ("import time; time.sleep(60)", False, "not done after 2 s"),
    ],
)
def test_each_end_of_a_step_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, passed: bool, says: str
) -> None:
    (tmp_path / "step.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(check_gpu, "__file__", str(tmp_path / "step.py"))
    monkeypatch.setattr(sys, "argv", ["check_gpu.py"])
    told = check_gpu.apart("machine", 2)
    assert (told["passed"], told.get("error", "")) == (passed, says)
    assert told["seconds"] >= 0
    if "found" in code:
        assert told["found"] == {"a": 1}


def test_what_differs_is_told_as_a_share_of_the_range() -> None:
    one, other = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.9])
    assert check_gpu.differ(one, one) == {"equal": True, "largest": 0.0, "same_token": True,
                                          "correlation": pytest.approx(1)}  # fmt: skip
    found = check_gpu.differ(other, one)
    assert not found["equal"]
    assert found["largest"] == pytest.approx(0.05)


def test_the_steps_have_limits_that_leave_time_to_build() -> None:
    assert check_gpu.LIMITS.keys() == check_gpu.DO.keys()
    assert sum(check_gpu.LIMITS.values()) < 1800


@pytest.mark.real
def test_it_runs_without_a_gpu_and_leaves_its_file(tmp_path: Path, smollm2: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, str(ROOT / "scripts" / "check_gpu.py"), "--cpu", "--only", "machine", "--model",
               str(smollm2), "--out", str(out)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text(encoding="utf-8"))
    assert told["device"] == "cpu"
    assert told["steps"]["machine"]["passed"]
    assert told["steps"]["machine"]["found"]["doctor"]["use"]["gpu_layers"] == 0
