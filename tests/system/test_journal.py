"""A journal of a run: it continues where it stopped, the last row of a key counts, and it never mixes two runs."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from wim_edge import Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.system.journal import RUN, Journal, read_rows, settings_identity


@dataclass(frozen=True)
class Row:
    key: str
    text: str | None = None
    error: str | None = None


JOBS = {name: name.upper() for name in ("a", "b", "c")}
RUN_OF = {"task": "t", "limit": 3, "settings": {"seed": 0}}


def opened(folder: Path, identity: Mapping[str, Any] = RUN_OF) -> Journal[Row]:
    return Journal(folder, "rows.jsonl", Row, identity, lambda name, was, now: name == "limit" and now > was)


def rows_of(folder: Path) -> list[Row]:
    return [*read_rows(folder / "rows.jsonl", Row)[0].values()]


def test_the_last_row_of_a_key_counts(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        for row in (Row("a", "1"), Row("b", "1"), Row("a", "2")):
            journal.add(row)
        assert journal.rows == [Row("a", "2"), Row("b", "1")]
    with opened(tmp_path) as journal:
        assert journal.rows == [Row("b", "1"), Row("a", "2")]
    assert rows_of(tmp_path) == [Row("b", "1"), Row("a", "2")]


def test_a_line_that_was_cut_off_is_overwritten(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.add(Row("a"))
    with (tmp_path / "rows.jsonl").open("ab") as file:
        file.write(b'{"key": "b", "te')
    with opened(tmp_path) as journal:
        assert journal.rows == [Row("a")]
        journal.add(Row("c\ud800"))
    assert [row.key for row in rows_of(tmp_path)] == ["a", "c?"]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"task": "u"}, "task is t there, u here"), ({"limit": 2}, "limit is 3 there, 2 here"),
     ({"settings": {"seed": 7}}, "seed is 0 there, 7 here"), ({"settings": {}}, "seed is 0 there, None here"),
     ({"task": {"name": "d", "sha256": "f" * 64}}, r"t there, d \(sha256 ffffffff\) here")],
)  # fmt: skip
def test_another_run_is_refused_by_its_difference(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with opened(tmp_path) as journal:
        journal.add(Row("a"))
        with pytest.raises(InvalidRequestError, match="another run is writing"):
            opened(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InvalidRequestError, match=says) as caught:
        opened(tmp_path, {**RUN_OF, **change})
    assert "--out" in caught.value.hint
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidRequestError, match="is no folder"):
        opened(tmp_path / "file")
    (tmp_path / "rows.jsonl").touch()
    with pytest.raises(InvalidRequestError, match="an unknown run"):
        opened(tmp_path)
    (tmp_path / RUN).write_text("[]")
    with pytest.raises(InvalidRequestError, match="damaged"):
        opened(tmp_path)


def test_the_settings_identity_has_a_digest_of_the_templates(tmp_path: Path) -> None:
    found = settings_identity(Settings(seed=7, stop=("a", "b")), ("model",))
    assert (found["seed"], found["stop"], "model" in found) == (7, "('a', 'b')", False)
    json.dumps(found)
    (tmp_path / "answer.jinja").write_text("{{ query }}")
    (tmp_path / "notes.txt").write_text("no template")
    one = settings_identity(Settings(templates=tmp_path), ())["templates"]
    (tmp_path / "notes.txt").write_text("changed")
    assert settings_identity(Settings(templates=tmp_path), ())["templates"] == one
    (tmp_path / "answer.jinja").write_text("{{ query }}!")
    assert settings_identity(Settings(templates=tmp_path), ())["templates"] != one
    assert os.fspath(tmp_path) not in one


class Work:
    """Does jobs and records them."""

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
        self.seen: list[str] = []
        """The keys of the rows at each call, as one text."""

    def __call__(self, rows: Sequence[Row], total: int) -> None:
        self.seen.append("".join(row.key for row in rows) + f" of {total}")


def test_a_run_that_was_stopped_continues_and_retries_what_failed(tmp_path: Path) -> None:
    work, watcher = Work(["A"], breaks_at="C"), Watcher()
    with opened(tmp_path) as run:
        assert run.run(JOBS, work, watcher)
    assert work.closed
    assert [(row.key, row.error) for row in rows_of(tmp_path)] == [("a", "it failed"), ("b", None)]
    assert watcher.seen == [" of 3", "a of 3", "ab of 3"]
    work, watcher = Work(), Watcher()
    with opened(tmp_path) as run:
        assert not run.run(JOBS, work, watcher)
    assert work.done == ["A", "C"]
    assert {row.key: row.text for row in rows_of(tmp_path)} == JOBS
    assert watcher.seen == ["b of 3", "ba of 3", "bac of 3"]


def test_a_row_after_a_good_one_is_ignored(tmp_path: Path) -> None:
    def work(jobs: list[str]) -> Generator[Row, None, None]:
        yield Row("a", "first")
        yield Row("a", None, "the machine was lost")
        yield Row("a", "second")

    watcher = Watcher()
    with opened(tmp_path) as run:
        run.run({"a": "A"}, work, watcher)
    assert rows_of(tmp_path) == [Row("a", "first")]
    assert watcher.seen == [" of 1", "a of 1"]


def test_rows_of_other_jobs_stay(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.run(JOBS, Work())
    watcher = Watcher()
    with opened(tmp_path) as run:
        run.run({"b": "B", "d": "D"}, Work(), watcher)
        assert [row.key for row in run.rows] == ["a", "b", "c", "d"]
    assert watcher.seen == ["b of 2", "bd of 2"]


def test_a_watcher_may_end_the_run(tmp_path: Path) -> None:
    def stop(rows: Sequence[Row], total: int) -> None:
        if rows:
            raise KeyboardInterrupt

    work = Work()
    with opened(tmp_path) as run:
        assert run.run(JOBS, work, stop)
    assert work.closed
    assert rows_of(tmp_path) == [Row("a", "A")]


def test_all_rows_are_replaced_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as run:
        run.run(JOBS, Work())
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
            with pytest.raises(OSError, match="No space left"):
                run.write(run.rows[::-1])
    assert [row.key for row in rows_of(tmp_path)] == ["a", "b", "c"]
    with opened(tmp_path) as run:
        run.write(run.rows[::-1])
        run.add(Row("d", "D"))
    assert [row.key for row in rows_of(tmp_path)] == ["c", "b", "a", "d"]
