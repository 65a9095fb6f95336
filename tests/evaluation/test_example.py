"""Examples: their documents have names of their own, and the gold is told from the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wim_edge.documents import Document, Mark, deduplicate
from wim_edge.evaluation.example import Example, Passage, as_documents


def test_names_become_unique() -> None:
    assert deduplicate(["A", "A", "B", "A (2)", "A"]) == ["A", "A (3)", "B", "A (2)", "A (4)"]
    documents, gold = as_documents([Passage("A", "x"), Passage("", "y", True), Passage("A", "z", True)])
    assert [(d.name, d.text) for d in documents] == [("A", "x"), ("Untitled", "y"), ("A (2)", "z")]
    assert gold == (1, 2)


def test_gold_is_a_document_or_a_place_in_it() -> None:
    marks = (Mark(0, section="Colours"),)
    documents = (Document("a", "nothing"), Document("b", "it is blue", marks))
    example = Example("q@0", "q", documents, "Which?", ("blue",), (1,))
    assert example.gold_documents == (replace(documents[1], marks=()),)
    assert [one.text for one in replace(example, gold_chars=(6, 10)).gold_documents] == ["blue"]
    assert replace(example, gold=()).gold_documents == ()


def test_what_has_no_answer_is_asked_only_where_there_is_none() -> None:
    example = Example("q@0", "q", (), "Which?", ())
    assert not example.is_asked
    assert replace(example, unanswerable=True).is_asked
    assert replace(example, answers=("blue",)).is_asked


@pytest.mark.parametrize("wrong", [("A", None), (3, "x")])
def test_a_passage_is_of_texts(wrong: tuple[object, object]) -> None:
    with pytest.raises(TypeError, match="where a text should be"):
        Passage(*wrong)  # type: ignore[arg-type]
