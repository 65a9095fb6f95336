"""How a run of many questions is told where no terminal is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wim_edge.cli import progress
from wim_edge.cli.progress import Bar, Failures, Lines, Scores


def scored(pattern: str, **scores: float) -> Any:
    return SimpleNamespace(pattern=pattern, scores=scores)


def answered(worker: str, error: str | None = None) -> Any:
    return SimpleNamespace(worker=worker, error=error)


def test_scores_are_means_by_pattern() -> None:
    tally = Scores("accuracy")
    for row in (scored("llm", accuracy=1.0), scored("llm", accuracy=0.0), scored("wim", accuracy=1.0),
                scored("wim", recall=0.0)):  # fmt: skip
        tally.count(row)
    assert tally.text() == "accuracy llm 50.0%, wim 100.0%"


def test_workers_are_counted_where_there_are_several() -> None:
    tally = Failures()
    tally.count(answered("here 1", "EngineError: it broke"))
    tally.count(answered("here 1"))
    assert tally.text() == "1 failed"
    tally.count(answered("there 2"))
    assert tally.text() == "1 failed, 2 workers"


def test_a_line_every_tenth_of_the_way(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with Lines(Failures()) as watcher:
        watcher.begin([answered("here")] * 10, 40)
        for _ in range(30):
            now[0] += 2.0
            watcher.add(answered("here"))
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "10 of 40 asked before"
    assert [line.partition(",")[0] for line in lines] == [f"{n} of 40 asked" for n in range(12, 41, 4)]
    assert lines[0] == "12 of 40 asked, 56 s left; 0 failed"  # what was there before took no time
    assert lines[-1] == "40 of 40 asked, 0 s left; 0 failed"


def test_a_line_where_nothing_was_told_for_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    watcher = Lines(Failures())
    watcher.begin([], 1000)
    for seconds in (1.0, 40.0, 1.0):
        now[0] += seconds
        watcher.add(answered("here"))
    assert [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()] == ["2 of 1000 asked"]


def test_lines_where_standard_error_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(progress.progress(Failures())) is Lines
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: True))
    assert type(progress.progress(Failures())) is Bar
    monkeypatch.setattr("sys.stderr", None)
    assert type(progress.progress(Failures())) is Lines


def test_a_bar_that_never_began_ends() -> None:
    with Bar(Failures()) as bar:
        pass
    assert bar.done == 0
