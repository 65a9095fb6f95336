"""The questions of a document are put to it, and what is wrong with it or with one of them is their result."""

from __future__ import annotations

from pathlib import Path

from tests.batch.scripted import MODEL, SMALL, Fake
from wim_edge.batch.questions import BatchQuestion
from wim_edge.batch.run import run
from wim_edge.errors import EngineError


def test_a_row_that_fails_stops_no_other(questions: list[BatchQuestion], tmp_path: Path) -> None:
    (tmp_path / "1.txt").unlink()
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", Fake(fails={"Which 0 0?": EngineError("it broke")}))
    assert [result.error for result in results] == [
        "EngineError: it broke", "DocumentError: 1.txt: no such file", None,
        None, "DocumentError: 1.txt: no such file", None,
    ]  # fmt: skip


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    long = BatchQuestion("1", "x" * 300, "Who?", tmp_path / ("x" * 300))
    results, _ = run([long], SMALL, MODEL, tmp_path / "out", Fake())
    assert results[0].error
    assert results[0].error.startswith("DocumentError")


def test_a_pipe_is_not_waited_for(questions: list[BatchQuestion], tmp_path: Path) -> None:
    import os

    (tmp_path / "0.txt").unlink()
    os.mkfifo(tmp_path / "0.txt")
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", Fake())
    assert results[0].error == "DocumentError: 0.txt: not a file"
