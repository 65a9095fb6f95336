"""What came of a question: a line of JSON, a row of Parquet."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet

from tests.batch.scripted import MODEL, SMALL, Fake
from wim_edge.batch.questions import BatchQuestion
from wim_edge.batch.run import PARQUET, run


def test_parquet_holds_the_same(questions: list[BatchQuestion], tmp_path: Path) -> None:
    (tmp_path / "2.txt").write_bytes(b"\x89PNG")
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", Fake(), parquet=True)
    rows = pyarrow.parquet.read_table(tmp_path / "out" / PARQUET).to_pylist()
    for row in rows:
        if row["usage"]:
            row["usage"]["seconds"] = dict(row["usage"]["seconds"])
    assert rows == [json.loads(json.dumps(asdict(result))) for result in results]
    assert [row["error"] is None for row in rows] == [True, True, False] * 2
