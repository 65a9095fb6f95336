"""BABILong's rows in their three forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.stub import build, write


@pytest.mark.parametrize(
    "row",
    [
        {"context": "long", "query": "Where? ", "target": "garden"},
        {"input": "long", "question": "Where?", "target": "garden"},
        {"context": "long", "input": "Where?", "target": "garden"},
    ],
)
def test_babilong(tmp_path: Path, row: dict[str, str]) -> None:
    (example,) = build("babilong", data=write(tmp_path / "b.json", [row]))
    assert [d.text for d in example.documents] == ["long"]
    assert (example.question, example.answers, example.x, example.gold) == ("Where?", ("garden",), None, ())
