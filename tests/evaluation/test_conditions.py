"""The conditions that can be named, and the settings that they stand for."""

from __future__ import annotations

import pytest

from wim_edge import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.conditions import parse_conditions
from wim_edge.evaluation.example import Example


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


def test_what_each_condition_shows_of_the_documents() -> None:
    documents = (Document("a", "red"), Document("b", "it is blue"))
    example = Example("q@0", "q", documents, "Which?", ("blue",), (1,), (6, 10))
    shown = {label: [one.text for one in condition.documents(example)]
             for label in ("llm", "oracle", "closed-book") for condition in parse_conditions(label)}  # fmt: skip
    assert shown == {"llm": ["red", "it is blue"], "oracle": ["blue"], "closed-book": []}


def test_a_control_does_not_depend_on_what_is_swept() -> None:
    conditions = parse_conditions("llm,oracle,default,closed-book,margins-alone,llm:source,rag:embed")
    assert [one.label for one in conditions if one.is_control] == ["oracle", "closed-book"]
