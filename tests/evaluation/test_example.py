"""Examples: their documents have names of their own, and the gold is told from the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.evaluation.stub import write
from wim_edge.documents import Document, Mark, deduplicate
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import (
    Example,
    Passage,
    Query,
    answers_of,
    as_documents,
    flag_of,
    list_of,
    load_queries,
    take_part,
)  # fmt: skip


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


def test_the_first_third_chooses() -> None:
    rows = list(range(150))
    assert take_part(rows, "choose", key=lambda row: row) == rows[:50]
    assert take_part(rows, "report", key=lambda row: row) == rows[50:]
    assert take_part(rows, "all", key=lambda row: row) == rows


@given(st.lists(st.sampled_from("abcdefg"), min_size=1))
def test_parts_are_disjoint_and_whole(keys: list[str]) -> None:
    rows = list(enumerate(keys))

    def taken(part: str) -> list[tuple[int, str]]:
        try:
            return take_part(rows, part, key=lambda row: row[1])  # type: ignore[arg-type]
        except InvalidRequestError:
            return []

    choose, report = taken("choose"), taken("report")
    assert sorted(choose + report) == rows
    assert not {key for _, key in choose} & {key for _, key in report}  # what belongs together stays together
    assert choose


def test_a_part_of_one_row_is_none() -> None:
    with pytest.raises(InvalidRequestError, match="none is left to report"):
        take_part(["a"], "report", key=lambda row: row)


@pytest.mark.parametrize(
    ("read", "value"),
    [(list_of, "ab"), (list_of, {}), (answers_of, True), (answers_of, [None]),
     (answers_of, {"a": 1}), (flag_of, "false"), (flag_of, None), (flag_of, 2),
     (lambda title: Passage(title, "x"), 3), (lambda text: Passage("A", text), None)],
)  # fmt: skip
def test_a_value_of_another_type_is_told(read: Callable[[object], object], value: object) -> None:
    with pytest.raises(TypeError, match="where"):
        read(value)


def test_values_as_they_are_meant() -> None:
    assert (answers_of("a"), answers_of([1, "b"]), answers_of(2.5)) == (("a",), ("1", "b"), ("2.5",))
    assert (flag_of(1), flag_of(False)) == (True, False)
