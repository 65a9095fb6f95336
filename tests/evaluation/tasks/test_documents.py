"""Whole documents with questions of their own: formats, how they are drawn, how a reply is scored."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import words, write
from wim_edge.documents import Document
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks import TASKS, TaskOptions
from wim_edge.evaluation.tasks.documents import data_files

TASK = TASKS["documents"]


def folder(tmp_path: Path, n_documents: int = 3, n_questions: int = 6) -> Path:
    """A folder in which every second question has no answer."""
    documents = [{"id": f"d{d}", "title": f"Title {d}", "text": f"House {d} is colour{d}."} for d in range(n_documents)]
    questions = [
        {"id": f"q{d}-{q}", "document": f"d{d}", "question": f"Which colour {q}? ", "unanswerable": q % 2 == 1,
         "answers": [] if q % 2 else [f"colour{d}"]}
        for d in range(n_documents) for q in range(n_questions)
    ]  # fmt: skip
    tmp_path.mkdir(exist_ok=True)
    write(tmp_path / "documents.jsonl.gz", documents, lines=True)
    write(tmp_path / "questions.jsonl", questions, lines=True)
    return tmp_path


def build(data: Path, **options: Any) -> list[Example]:
    return TASK.examples(TaskOptions(data=data, **options), words)


def test_a_question_and_its_document(tmp_path: Path) -> None:
    first, second = sorted(build(folder(tmp_path))[:2], key=lambda example: example.unanswerable)
    assert (first.documents[0].text, first.documents[0].title) == ("House 0 is colour0.", "Title 0")
    assert (first.question[:13], first.answers, first.unanswerable) == ("Which colour ", ("colour0",), False)
    assert (second.answers, second.unanswerable, second.is_asked) == ((), True, True)
    assert first.facts == {"document": "d0", "tokens": 4}
    assert first.shelf == second.shelf == "d0"


def test_the_limit_is_drawn_evenly(tmp_path: Path) -> None:
    data = folder(tmp_path)
    for limit in (3, 6, 7, 12):
        found = build(data, limit=limit)
        assert len(found) == limit
        counts = Counter(example.shelf for example in found)
        assert max(counts.values()) - min(counts.values()) <= 1
        for shelf in counts:
            absent = [example.unanswerable for example in found if example.shelf == shelf]
            assert abs(absent.count(False) - absent.count(True)) <= 1
        absent = [example.unanswerable for example in found]
        assert abs(absent.count(False) - absent.count(True)) <= 2  # also where each document has one question
        shelves = [example.shelf for example in found]
        assert shelves == sorted(shelves)  # one document after the other
        assert {example.id for example in found} <= {example.id for example in build(data, limit=limit + 3)}
    assert len({tuple(e.id for e in build(data, limit=6, seed=seed)) for seed in range(5)}) > 1
    assert build(data, limit=6) == build(data, limit=6)
    assert len(build(data)) == 18


def test_parts_share_no_document(tmp_path: Path) -> None:
    data = folder(tmp_path)
    choose, report = ({example.shelf for example in build(data, part=part)} for part in ("choose", "report"))
    assert (choose, report) == ({"d0"}, {"d1", "d2"})


def test_files_of_a_user(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"holds no documents\.jsonl"):
        build(tmp_path)
    (tmp_path / "note.md").write_text("# Heading\n\nThe roof is red.")
    write(tmp_path / "documents.json", [{"id": 1, "path": "note.md"}, {"id": 2, "path": "gone.txt"}])
    write(tmp_path / "questions.json", [{"document": 1, "question": "Which roof?", "answers": "red"}])
    with pytest.raises(DocumentError):
        build(tmp_path)
    write(tmp_path / "documents.json", [{"id": 1, "path": "note.md"}])
    (example,) = build(tmp_path)
    assert "The roof is red." in example.documents[0].text
    assert example.answers == ("red",)


TEXT, GOOD = {"id": "a", "text": "x"}, {"document": "a", "question": "q", "answers": ["y"]}


@pytest.mark.parametrize(
    ("documents", "questions", "message"),
    [
        ([TEXT], [GOOD | {"document": "b"}], "b, which is no document"),
        ([TEXT], [GOOD | {"question": " "}], "the question is empty"),
        ([TEXT], [GOOD | {"answers": [" "]}], "row 1: an answer is blank"),
        ([TEXT], [GOOD | {"unanswerable": True}], "row 1: it has answers"),
        ([TEXT], [GOOD | {"id": 7}] * 2, "the id 7"),
        ([{"id": "a", "path": "../a.txt"}], [GOOD], "outside of"),
        ([{"id": "a", "path": "/etc/hostname"}], [GOOD], "outside of"),
        ([TEXT] * 2, [GOOD], "two documents"),
        ([{"id": "a"}], [GOOD], "row 1: no 'text'"),
        ([TEXT], [{"document": "a", "answers": ["y"]}], "row 1: no 'question'"),
        ([TEXT], [{"document": "a", "question": "q"}], "row 1: no 'answers'"),
    ],
)
def test_another_format_is_an_error(tmp_path: Path, documents: Any, questions: Any, message: str) -> None:
    write(tmp_path / "documents.json", documents)
    write(tmp_path / "questions.json", questions)
    with pytest.raises(InvalidRequestError, match=message):
        build(tmp_path)


def test_a_reply_is_scored_by_its_parts(tmp_path: Path) -> None:
    answerable, absent = sorted(build(folder(tmp_path))[:2], key=lambda example: example.unanswerable)
    late = "x " * 60 + "colour0"
    reply = Reply(text=f"Colour0.\n{late}", pattern="wim", quotes=("House 0 is colour0.",), passages=("colour9",))
    assert TASK.score(answerable, reply) == {
        "not_found": 0, "guess": 0, "loops": 1, "echoes": 0, "f1": 1, "exact": 1, "contains": 1, "in_quotes": 1,
        "in_passages": 0,
    }  # fmt: skip
    scores = TASK.score(answerable, Reply(text=late, pattern="llm"))
    assert (scores["contains"], "in_quotes" in scores, "in_passages" in scores) == (0, False, False)
    assert TASK.score(absent, Reply(text="The document does not say.", pattern="llm")) == {
        "not_found": 1, "guess": 0, "loops": 0, "echoes": 0,
    }  # fmt: skip
    assert TASK.score(answerable, None) == {"f1": 0, "exact": 0, "contains": 0}  # a failed question is wrong, and
    assert TASK.score(absent, None) == {"not_found": 0}  # says nothing of how its reply reads


def test_rows_without_ids_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "documents.json", [TEXT])
    write(tmp_path / "questions.json", [GOOD | {"id": None}] * 2)
    assert len({example.id for example in build(tmp_path)}) == 2
    assert len(build(tmp_path, limit=1)) == 1


def test_a_part_without_questions_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "documents.json", [{"id": "a", "text": "x"}, {"id": "b", "text": "x"}])
    write(tmp_path / "questions.json", [{"document": "a", "question": "q", "answers": ["y"]}])
    with pytest.raises(InvalidRequestError, match="no question"):
        build(tmp_path, part="report")


def test_the_files_of_a_folder_are_those_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("sub/a.txt", "other.txt"):
        (tmp_path / name).write_text("It is blue.")
    write(tmp_path / "documents.json", [{"id": "a", "path": "sub/a.txt"}, {"id": "b", "text": "x"}])
    write(tmp_path / "questions.json", [{"document": "a", "question": "q", "answers": ["y"]}])
    names = {str(path.relative_to(tmp_path)) for path in data_files(tmp_path)}
    assert names == {"documents.json", "questions.json", "sub/a.txt"}


def test_the_first_words_of_a_chinese_answer_are_its_first_characters(tmp_path: Path) -> None:
    example = Example("q", "q", (Document("d", "x"),), "q", ("北京",))
    for before, found in ((58, 1), (70, 0)):
        reply = Reply(text="是" * before + "北京", pattern="llm", quotes=None, passages=None)
        assert TASK.score(example, reply)["contains"] == found
