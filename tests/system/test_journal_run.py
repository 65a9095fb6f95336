"""The jobs of a run are done once: it goes on where it was, and asks again what failed."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from wim_edge.errors import InvalidRequestError
from wim_edge.system.journal import Journal, read_rows

JOBS = {name: name.upper() for name in ("a", "b", "c")}


@dataclass(frozen=True)
class Row:
    key: str
    text: str | None = None
    error: str | None = None


def journal(folder: Path, **identity: object) -> Journal[Row]:
    return Journal(folder, "rows.jsonl", Row, {"task": "test", **identity}, lambda name, *_: name == "limit")


def rows(folder: Path) -> list[Row]:
    return read_rows(folder / "rows.jsonl", Row)


class Work:
    """Does jobs, and knows which ones."""

    def __init__(self, fails: Sequence[str] = (), *, breaks_at: str = "") -> None:
        self.fails, self.breaks_at = fails, breaks_at
        self.done: list[str] = []
        self.closed = False

    def __call__(self, jobs: list[str]) -> Generator[Row, None, None]:
        try:
            for job in jobs:
                if job == self.breaks_at:
                    raise KeyboardInterrupt
                self.done.append(job)
                failed = job in self.fails
                yield Row(job.lower(), None if failed else job, "it failed" if failed else None)
        finally:
            self.closed = True


class Watcher:
    def __init__(self) -> None:
        self.kept: list[str] = []
        self.added: list[str] = []
        self.total = 0

    def begin(self, kept: Sequence[Row], total: int) -> None:
        self.kept, self.total = [row.key for row in kept], total

    def add(self, row: Row) -> None:
        self.added.append(row.key)


def test_a_run_that_was_stopped_goes_on_and_asks_again_what_failed(tmp_path: Path) -> None:
    work, watcher = Work(["A"], breaks_at="C"), Watcher()
    with journal(tmp_path) as run, pytest.raises(KeyboardInterrupt):
        run.run(JOBS, work, watcher)
    assert work.closed
    assert [(row.key, row.error) for row in rows(tmp_path)] == [("a", "it failed"), ("b", None)]
    assert (watcher.kept, watcher.added, watcher.total) == ([], ["a", "b"], 3)
    work, watcher = Work(), Watcher()
    with journal(tmp_path) as run:
        run.run(JOBS, work, watcher)
    assert work.done == ["A", "C"]
    assert {row.key: row.text for row in rows(tmp_path)} == JOBS
    assert (watcher.kept, watcher.added, watcher.total) == (["b"], ["a", "c"], 3)


def test_a_row_that_comes_twice_counts_once(tmp_path: Path) -> None:
    def work(jobs: list[str]) -> Generator[Row, None, None]:
        yield Row("a", "first")
        yield Row("a", None, "the machine was lost")
        yield Row("a", "second")

    watcher = Watcher()
    with journal(tmp_path) as run:
        run.run({"a": "A"}, work, watcher)
    assert rows(tmp_path) == [Row("a", "first")]
    assert watcher.added == ["a"]


def test_what_is_not_asked_now_stays(tmp_path: Path) -> None:
    with journal(tmp_path) as run:
        run.run(JOBS, Work())
    watcher = Watcher()
    with journal(tmp_path) as run:
        run.run({"b": "B", "d": "D"}, Work(), watcher)
        assert [row.key for row in run.rows] == ["a", "b", "c", "d"]
    assert (watcher.kept, watcher.added, watcher.total) == (["b"], ["d"], 2)


def test_whoever_watches_may_end_the_run_and_its_work(tmp_path: Path) -> None:
    class Stops(Watcher):
        def add(self, row: Row) -> None:
            raise KeyboardInterrupt

    work = Work()
    with journal(tmp_path) as run, pytest.raises(KeyboardInterrupt):
        run.run(JOBS, work, Stops())
    assert work.closed
    assert rows(tmp_path) == [Row("a", "A")]


def test_a_line_that_was_cut_off_is_asked_again(tmp_path: Path) -> None:
    with journal(tmp_path) as run:
        run.run(JOBS, Work())
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    work = Work()
    with journal(tmp_path) as run:
        run.run(JOBS, work)
    assert work.done == ["C"]
    assert len(path.read_text().splitlines()) == 3


def test_rows_are_written_anew_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with journal(tmp_path) as run:
        run.run(JOBS, Work())
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(OSError, match="No space left"):
                run.write(run.rows[::-1])
    assert [row.key for row in rows(tmp_path)] == ["a", "b", "c"]
    with journal(tmp_path) as run:
        run.write(run.rows[::-1])
        run.add(Row("d", "D"))
    assert [row.key for row in rows(tmp_path)] == ["c", "b", "a", "d"]


def test_another_run_is_refused_and_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    with journal(tmp_path, model="x", limit=1) as run:
        run.run(JOBS, Work())
        with pytest.raises(InvalidRequestError, match="another run is writing"):
            journal(tmp_path, model="x", limit=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InvalidRequestError, match="model is x there, y here"):
        journal(tmp_path, model="y", limit=1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with journal(tmp_path, model="x", limit=2) as run:
        assert len(run.rows) == 3
    assert json.loads((tmp_path / "run.json").read_text())["limit"] == 2
