"""Questions of a library, in the formats that they come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.stub import write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.queries import Query, load_queries


def test_kilt(tmp_path: Path) -> None:
    row = {
        "id": "1", "input": "who sang", "output": [
            {"answer": "Anna", "provenance": [{"wikipedia_id": "5", "title": "Song"}, {"title": "Singer"}]},
            {"provenance": [{"title": "Song"}]},
        ],
    }  # fmt: skip
    assert load_queries(write(tmp_path / "kilt.jsonl", [row], lines=True)) == [
        Query("who sang", (frozenset({"Song", "Singer"}), frozenset({"Song"})), ("Anna",))
    ]


def test_gold_titles_are_told_as_the_library_writes_them(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", [{"question": "q", "titles": ["Ferry  line", "x" * 300]}], lines=True)
    (query,) = load_queries(path)
    assert sorted(map(len, query.titles)) == [10, 200]
    assert "Ferry line" in query.titles
    with pytest.raises(InvalidRequestError):
        load_queries(write(tmp_path / "bad.jsonl", [{"question": "q", "titles": "Zoo"}], lines=True))
