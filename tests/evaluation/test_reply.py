"""What comes back of one question, as the metrics see it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import StubRuntime, blue, example, run
from wim_edge.evaluation.records import read_records

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
    assert found.seconds is not None
    assert 0.05 <= found.seconds + 10 < 10
    assert (found.prefilled_tokens, found.decoded_tokens, found.finish_reason) == (100, 10, "stop")


def test_a_cancelled_reading_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, runtime=StubRuntime(blue, finish_reason="cancelled"))
    assert read_records(tmp_path) == []
