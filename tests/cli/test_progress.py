"""The progress of long operations, without a terminal and on one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wim_edge.cli import terminal
from wim_edge.cli.runs import RunProgress, tally_failures
from wim_edge.cli.terminal import Progress
from wim_edge.evaluation.summary import tally_scores


def scored(pattern: str, **scores: float) -> Any:
    return SimpleNamespace(pattern=pattern, scores=scores)


def answered(worker: str, error: str | None = None) -> Any:
    return SimpleNamespace(worker=worker, error=error)


def test_scores_are_means_by_pattern() -> None:
    rows = [scored("llm", accuracy=1.0), scored("llm", accuracy=0.0), scored("wim", accuracy=1.0),
            scored("wim", recall=0.0)]  # fmt: skip
    assert tally_scores("accuracy", rows) == "accuracy llm 50.0%, wim 100.0%"


def test_workers_are_counted_where_there_are_several() -> None:
    rows = [answered("here 1", "EngineError: it broke"), answered("here 1")]
    assert tally_failures(rows) == "1 failed"
    assert tally_failures([*rows, answered("there 2")]) == "1 failed, 2 workers"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time on the clock."""
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_tenth_of_the_way(capsys: pytest.CaptureFixture[str], now: list[float]) -> None:
    with RunProgress(tally_failures) as progress:
        for n in range(10, 41):
            progress.watch([answered("here")] * n, 40)
            now[0] += 2.0
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "10 of 40 asked before"
    assert [line.partition(",")[0] for line in lines] == [f"{n} of 40 asked" for n in range(12, 41, 4)]
    assert lines[0] == "12 of 40 asked, 56 s left; 0 failed"  # rows from before took no time
    assert lines[-1] == "40 of 40 asked, 0 s left; 0 failed"


def test_a_line_after_half_a_minute(capsys: pytest.CaptureFixture[str], now: list[float]) -> None:
    progress = RunProgress(tally_failures)
    for n, seconds in enumerate((0.0, 1.0, 40.0, 1.0)):
        now[0] += seconds
        progress.watch([answered("here")] * n, 1000)
    assert [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()] == ["2 of 1000 asked"]


def test_sizes_and_an_unknown_total(capsys: pytest.CaptureFixture[str], now: list[float]) -> None:
    shown = Progress("model: ", size=lambda n: f"{n} MB")
    shown(3, None)
    shown(4, 40)
    assert capsys.readouterr().err == "model: 4 MB of 40 MB, 0 s left\n"


def test_a_bar_on_a_terminal_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Progress("model: ") as shown:
        shown(1, 2)
        shown(2, 2)
    assert "model: 2 of 2" in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr", None)
    with RunProgress(tally_failures) as progress:  # a run that never began ends too
        progress.watch([], 1)
