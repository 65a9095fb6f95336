"""The conditions that can be named: their settings, what is shown under each, and what is kept between questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.evaluation.stub import ask
from wim_edge import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.conditions import ConditionAsker, parse_conditions
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


def test_the_publications_prompt(asker: ConditionAsker) -> None:
    reply, prompt = ask(asker, "llm:source")
    assert "Document [2](Title: House 1) It is colour1 all over." in prompt
    assert "search results" in prompt
    assert (reply.text, reply.pattern, reply.passages, reply.ranking) == ("It is colour1.", "llm:source", None, None)
    assert reply.prefilled_tokens > 20


def test_the_oracle_keeps_the_heading_of_its_document(asker: ConditionAsker) -> None:
    _, whole = ask(asker, "llm")
    _, oracle = ask(asker, "oracle")
    passage = 'Document "House 1":\nIt is colour1 all over.'
    assert passage in whole
    assert passage in oracle
    assert "House 0" not in oracle


def test_margins_alone(asker: ConditionAsker) -> None:
    default, _ = ask(asker, "default")
    reply, prompt = ask(asker, "margins-alone")
    assert reply.quotes == default.quotes
    assert reply.quotes
    for quote in reply.quotes:
        assert quote in prompt
    assert 'Document "House' not in prompt  # the passages are not there
    assert reply.decoded_tokens > default.decoded_tokens  # the margins' own cost counts


def test_order_matters_where_all_is_read_in_one_sequence(asker: ConditionAsker) -> None:
    settings = asker.runtime.settings
    labels = "llm,wim,default,rag,wim-shallow,rag:embed,llm:source,oracle"
    ignoring = [c.label for c in parse_conditions(labels) if c.ignores_order(settings)]
    assert ignoring == ["rag", "wim-shallow", "rag:embed", "oracle"]


def test_a_document_is_read_once_by_each_condition(asker: ConditionAsker) -> None:
    text = "Some words of a text that is read. " * 30
    example = Example("a", "a", (Document("d", text),), "what is it", ("x",), shelf="d")
    first, later = (ask(asker, "default", replace(example, id=name))[0].prefilled_tokens for name in "ab")
    assert later < first / 2
    other, _ = ask(asker, "wim", example)
    again, _ = ask(asker, "wim-shallow", example)
    anew, _ = ask(asker, "default", replace(example, shelf=None))
    assert other.prefilled_tokens >= len(asker.runtime.open().tokenize(text))
    assert again.prefilled_tokens > first / 2  # what one condition has read is not another's
    assert anew.prefilled_tokens >= first
