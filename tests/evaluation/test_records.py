"""A reply as metrics see it, and an evaluation on disk: it may grow; another run or damage is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import EXAMPLES, StubRuntime, blue, example, run
from wim_edge import Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.records import fingerprint, read_records

B = (1, (0, 10))


def test_what_is_written_is_what_is_returned(tmp_path: Path) -> None:
    found = run(tmp_path, "llm,wim", runtime=StubRuntime(blue, ranked=[B], quotes=[("nothing", (0, 7))]))
    assert read_records(tmp_path) == found
    identity = json.loads((tmp_path / "run.json").read_text())
    assert (identity["task"], identity["model"], identity["patterns"]) == ("multidoc", "fake", ["llm", "wim"])


def test_a_run_may_grow_by_patterns_and_limit(tmp_path: Path) -> None:
    run(tmp_path, "llm", EXAMPLES[:2], limit=1)
    runtime = StubRuntime(blue)
    assert len(run(tmp_path, "wim,llm", EXAMPLES, runtime, limit=None)) == 8  # generated: None is 50
    assert len(runtime.asked) == 6
    with pytest.raises(InvalidRequestError, match="limit is 50 there, 1 here"):
        run(tmp_path, "wim,llm", EXAMPLES[:2], limit=1)
    with pytest.raises(InvalidRequestError, match="patterns is"):
        run(tmp_path, "llm")


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (Settings(), {"seed": 1}, "seed is 0 there, 1 here"),
        (Settings(segment_tokens=99), {}, "segment_tokens is None there, 99 here"),
        (Settings(), {"documents": (5,)}, "documents is"),
    ],
)
def test_another_run_is_refused(tmp_path: Path, settings: Settings, options: dict[str, Any], message: str) -> None:
    run(tmp_path)
    before = (tmp_path / "examples.jsonl").read_bytes(), (tmp_path / "run.json").read_bytes()
    with pytest.raises(InvalidRequestError, match=message) as caught:
        run(tmp_path, runtime=StubRuntime(blue, settings), **options)
    assert "--out" in caught.value.hint
    assert before == ((tmp_path / "examples.jsonl").read_bytes(), (tmp_path / "run.json").read_bytes())


def test_changed_data_under_the_same_name_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text("1")
    run(tmp_path / "out", data=data)
    data.write_text("2")
    with pytest.raises(InvalidRequestError, match=r"data is data.json \(sha256 \w+\) there, data.json \(sha"):
        run(tmp_path / "out", data=data)


@pytest.mark.parametrize("change", [{"settings": 1}, {"limit": "x"}, {"patterns": 5}, {"model_file": "other"}])
def test_a_changed_run_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    run(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidRequestError, match=r"damaged|another run"):
        run(tmp_path)


def test_the_fingerprint_is_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert fingerprint(tmp_path / "abc") == {
        "name": "abc", "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }  # fmt: skip


def test_a_folders_fingerprint_is_of_the_named_files_and_their_names(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"same")
    both = fingerprint(tmp_path, paths)
    assert both == fingerprint(tmp_path, [*paths[::-1], paths[0]])
    assert both != fingerprint(tmp_path, paths[:1])
    paths[1].rename(tmp_path / "c")
    assert both != fingerprint(tmp_path, [paths[0], tmp_path / "c"])
    (tmp_path / "c").rename(paths[1])
    paths[1].write_bytes(b"other")
    assert both != fingerprint(tmp_path, paths)
    assert fingerprint(None) is None


A, B = (0, (0, 7)), (1, (0, 10))
PARTS = ((1, (0, 3)), (1, (3, 6)), (1, (6, 8)), (1, (8, 10)))


@pytest.mark.parametrize(
    ("ranked", "more", "rank"),
    [
        ((B, A), {}, 1),
        ((A, B), {}, 2),
        ((A,), {}, 0),
        ((), {}, None),
        ((B, A), {"gold": ()}, None),
        (PARTS, {"gold_chars": (6, 10)}, 3),  # a segment that holds a part of the place
        (PARTS[::-1], {"gold_chars": (3, 6)}, 3),
        ((A,), {"gold_chars": (0, 7)}, 0),
    ],
)
def test_the_rank_of_gold(tmp_path: Path, ranked: Any, more: dict[str, Any], rank: int | None) -> None:
    found = run(tmp_path, "llm,wim", [example(**more)], StubRuntime(blue, ranked=ranked))
    assert [record.gold_rank for record in found] == [None, rank]


def test_seconds_leave_loading_out(tmp_path: Path) -> None:
    def slow(*_: object) -> str:
        time.sleep(0.05)
        return "blue"

    (found,) = run(tmp_path, examples=[example()], runtime=StubRuntime(slow, load=10))
    assert 0.05 <= found.seconds + 10 < 10
    assert (found.prefilled_tokens, found.decoded_tokens, found.finish_reason) == (100, 10, "stop")


def test_a_cancelled_reading_is_no_answer(tmp_path: Path) -> None:
    assert run(tmp_path, runtime=StubRuntime(blue, finish_reason="cancelled")) == []
