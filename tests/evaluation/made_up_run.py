"""The records of a run that nobody made, and their summary."""

from __future__ import annotations

from typing import Any

from wim_edge.evaluation.records import Record
from wim_edge.evaluation.summary import summarize
from wim_edge.evaluation.tasks import TASKS


def record(group: str, x: int | None, pattern: str, accuracy: float | None, **more: Any) -> Record:
    scores = {} if accuracy is None else {"accuracy": accuracy}
    given = {"seconds": 2.0, "prefilled_tokens": 100, "decoded_tokens": 10, "resolved_pattern": pattern,
             "answer": "an <answer>", **more, "scores": scores | more.get("scores", {})}  # fmt: skip
    return Record(id=f"{group}@{x or 0}", group=group, pattern=pattern, x=x, question=f"Which {group}?",
                  answers=("right",), **given)  # fmt: skip


RECORDS = [
    record("a", 0, "llm", 1.0), record("a", 4, "llm", 0.0), record("b", 0, "llm", 1.0, seconds=4.0),
    record("b", 4, "llm", 1.0, seconds=None, prefilled_tokens=None, error="CapacityError: 9 of 5"),
    record("a", 0, "wim", 0.0, seconds=6.0, gold_rank=1, resolved_pattern="wim:cascade"),
    record("a", 4, "wim", 1.0, seconds=6.0, gold_rank=2, resolved_pattern="wim:cascade"),
    record("b", 0, "wim", 1.0, seconds=12.0, gold_rank=3), record("b", 4, "wim", 1.0, seconds=50.0, gold_rank=0),
    record("a", None, "oracle", 1.0, seconds=1.0), record("b", None, "oracle", 0.0, seconds=1.0),
]  # fmt: skip
PATTERNS = ["llm", "wim", "oracle"]


def summary(records: list[Record] = RECORDS, task: str = "multidoc", patterns: list[str] = PATTERNS) -> dict[str, Any]:
    return summarize(TASKS[task], "fake", "wim-edge eval <x>", records, patterns)
