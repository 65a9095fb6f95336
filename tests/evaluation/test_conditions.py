"""The conditions that can be named, and the settings that they stand for."""

from __future__ import annotations

import pytest

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.conditions import parse_conditions


@pytest.mark.parametrize("text", ["", ",", "wim2", "llm:bm25", "oracle:bm25", "wim:", "wim:nothing", "closedbook"])
def test_no_such_pattern(text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_conditions(text)
    assert "closed-book" in caught.value.hint


def test_pattern_settings() -> None:
    patterns = parse_conditions("llm, rag:bm25,default,default:likelihood,oracle,llm")
    assert [pattern.changes for pattern in patterns] == [
        {"pattern": "llm"}, {"pattern": "rag", "relevance": "bm25"}, {}, {"relevance": "likelihood"},
        {"pattern": "llm"},
    ]  # fmt: skip
