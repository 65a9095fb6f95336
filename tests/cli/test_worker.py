"""`wim-edge worker` as a parent starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge import events
from wim_edge.worker import Worker

pytestmark = pytest.mark.real  # the worker is a process


def test_the_command_serves_a_real_model(smollm2: Path, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "gpl.txt"
    path.write_text(long_text[:1200])
    with Worker(model=smollm2, answer_tokens=8) as worker:
        found = list(worker.stream(path, "Who may copy it?"))
        assert isinstance(found[-1], events.AnswerFinished)
        assert found[-1].sources
