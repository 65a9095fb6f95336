"""Questions of a few documents; and Ray's processes are as quick as all others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from wim_edge.batch.rows import BatchQuestion, read_questions

os.environ["RAY_worker_niceness"] = "0"  # of 15 unless told otherwise: they would wait for all other tests  # noqa: SIM112


@pytest.fixture
def questions(tmp_path: Path) -> list[BatchQuestion]:
    rows = []
    for number in range(3):
        text = " ".join(f"Sentence {n} tells of the {n}th stone in wall {number}." for n in range(30))
        (tmp_path / f"{number}.txt").write_text(text)
    for part in range(2):
        rows += [{"document": f"{n}.txt", "question": f"Which {n} {part}?", "id": f"{n}/{part}"} for n in range(3)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return read_questions(tmp_path / "q.jsonl")
