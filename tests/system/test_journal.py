"""A journal of a run: it goes on where it stopped, a later row of a key counts, and it never mixes two runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wim_edge import Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.system.journal import RUN, Journal, read_rows, settings_identity


@dataclass(frozen=True)
class Done:
    id: str
    n: int
    error: str | None = None

    @property
    def key(self) -> str:
        return self.id


RUN_OF = {"task": "t", "limit": 3, "settings": {"seed": 0}}


def opened(folder: Path, identity: Mapping[str, Any] = RUN_OF) -> Journal[Done]:
    return Journal(folder, "rows.jsonl", Done, identity, lambda name, was, now: name == "limit" and now > was)


def test_a_later_row_of_a_key_counts_and_stands_last(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        for row in (Done("a", 1), Done("b", 1), Done("a", 2)):
            journal.add(row)
        assert journal.rows == [Done("a", 2), Done("b", 1)]
    with opened(tmp_path) as journal:
        assert journal.rows == [Done("b", 1), Done("a", 2)]
    assert read_rows(tmp_path / "rows.jsonl", Done) == [Done("b", 1), Done("a", 2)]


def test_a_line_that_was_cut_off_is_written_over(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.add(Done("a", 1))
    with (tmp_path / "rows.jsonl").open("ab") as file:
        file.write(b'{"id": "b", "n"')
    with opened(tmp_path) as journal:
        assert journal.rows == [Done("a", 1)]
        journal.add(Done("c\ud800", 3))
    assert [row.id for row in read_rows(tmp_path / "rows.jsonl", Done)] == ["a", "c?"]


@pytest.mark.parametrize("line", [b"rubbish", b"[]", b'{"id": "a"}', b'{"id": "a", "n": 1, "m": 2}', b"[" * 100_000])
def test_a_line_of_another_kind_is_named(tmp_path: Path, line: bytes) -> None:
    with opened(tmp_path) as journal:
        journal.add(Done("a", 1))
    with (tmp_path / "rows.jsonl").open("ab") as file:
        file.write(b"\n" + line + b"\n")
    with pytest.raises(InvalidRequestError, match="line 3 is damaged"):
        opened(tmp_path)
    with pytest.raises(InvalidRequestError, match="line 3 is damaged"):  # the lock is free again
        opened(tmp_path)


def test_rows_are_written_anew_and_it_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        for name in "abc":
            journal.add(Done(name, 1))
        journal.write([Done("c", 1), Done("a", 1)])
        journal.add(Done("d", 1))
        assert [row.id for row in journal.rows] == ["c", "a", "d"]
    assert [row.id for row in read_rows(tmp_path / "rows.jsonl", Done)] == ["c", "a", "d"]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"task": "u"}, "task is t there, u here"), ({"limit": 2}, "limit is 3 there, 2 here"),
     ({"settings": {"seed": 7}}, "seed is 0 there, 7 here"), ({"settings": {}}, "seed is 0 there, None here"),
     ({"task": {"name": "d", "sha256": "f" * 64}}, r"t there, d \(sha256 ffffffff\) here")],
)  # fmt: skip
def test_another_run_is_named_by_what_differs(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    opened(tmp_path).__exit__()
    with pytest.raises(InvalidRequestError, match=says) as caught:
        opened(tmp_path, {**RUN_OF, **change})
    assert "--out" in caught.value.hint


def test_what_may_grow_grows_and_is_written_down(tmp_path: Path) -> None:
    opened(tmp_path).__exit__()
    opened(tmp_path, {**RUN_OF, "limit": 5}).__exit__()
    assert json.loads((tmp_path / RUN).read_text())["limit"] == 5
    with pytest.raises(InvalidRequestError, match="limit is 5 there, 4 here"):
        opened(tmp_path, {**RUN_OF, "limit": 4})


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidRequestError, match="is no folder"):
        opened(tmp_path / "file")
    (tmp_path / "rows.jsonl").touch()
    with pytest.raises(InvalidRequestError, match="an unknown run"):
        opened(tmp_path)
    (tmp_path / RUN).write_text("[]")
    with pytest.raises(InvalidRequestError, match="damaged"):
        opened(tmp_path)


def test_one_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(InvalidRequestError, match="another run is writing"):
        opened(tmp_path)
    opened(tmp_path).__exit__()


def test_settings_are_described_with_what_their_templates_say(tmp_path: Path) -> None:
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
