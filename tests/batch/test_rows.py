"""What a batch asks, from files and folders, and a result as a row of Parquet."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.batch.scripted import MODEL, SMALL, Fake
from tests.conftest import written
from wim_edge.batch.rows import BatchQuestion, grouped, questions_of_each, read_questions
from wim_edge.batch.run import PARQUET, run
from wim_edge.errors import InvalidRequestError

ROWS = [
    {"document": "a.txt", "question": "Who?", "id": "x"},
    {"document": "sub/b.txt", "question": " What, and why? "},
    {"document": "a.txt", "question": "When?", "id": 7},
]


@pytest.mark.parametrize("layout", ["jsonl", "json", "csv", "semicolons", "tsv"])
def test_rows_of_every_layout(tmp_path: Path, layout: str) -> None:
    if layout == "jsonl":
        path = written(tmp_path / "q.jsonl", "\n".join(map(json.dumps, ROWS)))
    elif layout == "json":
        path = written(tmp_path / "q.json", json.dumps(ROWS))
    else:
        mark, ending = {"csv": (",", "csv"), "semicolons": (";", "csv"), "tsv": ("\t", "tsv")}[layout]
        rows = ([r["document"], f'"{r["question"]}"', r.get("id", "")] for r in ROWS)
        lines = [["document", "question", "id"], *rows]
        path = written(tmp_path / f"q.{ending}", "\ufeff" + "\r\n".join(mark.join(map(str, line)) for line in lines))
    found = read_questions(path)
    assert [(one.id, one.document, one.question) for one in found] == [
        ("x", "a.txt", "Who?"), ("2", "sub/b.txt", "What, and why?"), ("7", "a.txt", "When?"),
    ]  # fmt: skip
    assert found[1].path == tmp_path / "sub" / "b.txt"


def test_questions_of_a_document_stand_together(tmp_path: Path) -> None:
    groups = grouped(read_questions(written(tmp_path / "q.json", json.dumps(ROWS))))
    assert [[question.id for question in group.questions] for group in groups] == [["x", "7"], ["2"]]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("q.jsonl", '{"question": "Who?"}', "row 1: no 'document'"),
        ("q.jsonl", '{"document": "a", "question": "Who?"}\n{"document": "a"}', "row 2: no 'question'"),
        ("q.jsonl", '{"document": "a", "question": "  "}', "row 1: the question is empty"),
        ("q.jsonl", '{"document": "", "question": "Who?"}', "row 1: it names no document"),
        ("q.jsonl", '{"document": ["a"], "question": "Who?"}', "row 1"),
        ("q.jsonl", '{"document": "a", "question": "Who?", "id": true}', "row 1"),
        ("q.jsonl", '{"document":"a","question":"W?","id":"2"}\n{"document":"a","question":"V?"}', "row 2: the id '2'"),
        ("q.jsonl", "", "holds no rows"),
        ("q.jsonl", "nonsense", "line 1"),
        ("q.csv", "document,question\n", "holds no rows"),
        ("q.csv", "doc,question\na,Who?\n", "has the headings doc, question"),
        ("q.csv", "document,question,question\na,Who?,Where?\n", "has the headings document, question, question"),
        ("q.csv", "", "has the headings none"),
        ("q.csv", "document,question\na\n", "row 1: 1 fields under 2 headings"),
        ("q.csv", "document,question\na,Who, then?\n", "row 1: 3 fields under 2 headings"),
        ("q.csv", 'document,question\na,"Who?\n', "unexpected end"),
    ],
)
def test_what_is_wrong_with_a_row_is_told(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(InvalidRequestError) as told:
        read_questions(written(tmp_path / name, text))
    assert says in str(told.value)
    assert told.value.hint


def test_headings_may_be_written_otherwise(tmp_path: Path) -> None:
    (found,) = read_questions(written(tmp_path / "q.csv", '\n Document , QUESTION\na.txt,"Who, then?"\n\n'))
    assert (found.document, found.question) == ("a.txt", "Who, then?")


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl"])
def test_a_file_that_is_not_there_and_a_pipe_which_is_not_waited_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"{name}: No such file"):
        read_questions(tmp_path / name)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InvalidRequestError, match="no regular file"):
        read_questions(tmp_path / name)


def test_names_that_are_no_unicode_stay_apart(tmp_path: Path) -> None:
    for name in (b"\xff.txt", b"\xfe.txt"):
        (tmp_path / os.fsdecode(name)).write_text("text")
    assert [one.id for one in questions_of_each(tmp_path, ["Who?"])] == ["\\xfe.txt", "\\xff.txt"]


def test_each_document_of_a_folder(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "sub/c.html", "picture.png", ".hidden.txt", "results.jsonl"):
        written(tmp_path / name, "text")
    one = questions_of_each(tmp_path, ["Who?"])
    assert [(q.id, q.document, q.path) for q in one] == [
        (name, name, tmp_path / name) for name in ("a.md", "b.txt", "sub/c.html")
    ]
    assert [q.id for q in questions_of_each(tmp_path, ["Who?", "Why?"])][:3] == ["a.md#1", "a.md#2", "b.txt#1"]


def test_a_question_is_as_the_results_have_it(tmp_path: Path) -> None:
    written(tmp_path / "a.txt", "text")
    assert questions_of_each(tmp_path, ["Qui a sign\udce9?"])[0].question == "Qui a sign??"


def test_a_folder_without_documents(tmp_path: Path) -> None:
    for folder, why in ((tmp_path, "holds no documents"), (tmp_path / "none", "no such folder")):
        with pytest.raises(InvalidRequestError, match=why):
            questions_of_each(folder, ["Who?"])
    written(tmp_path / "a.txt", "text")
    with pytest.raises(InvalidRequestError, match="empty"):
        questions_of_each(tmp_path, [" "])


def test_documents_are_found_from_wherever_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "q.csv", "document,question\na.txt,Who?\n")
    written(tmp_path / "a.txt", "text")
    monkeypatch.chdir(tmp_path)
    assert read_questions(Path("q.csv"))[0].path == tmp_path / "a.txt"
    assert questions_of_each(Path(), ["Who?"])[0].path == tmp_path / "a.txt"


def test_parquet_holds_the_same(questions: list[BatchQuestion], tmp_path: Path) -> None:
    (tmp_path / "2.txt").write_bytes(b"\x89PNG")
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", Fake(), parquet=True)
    rows = pyarrow.parquet.read_table(tmp_path / "out" / PARQUET).to_pylist()
    for row in rows:
        if row["usage"]:
            row["usage"]["seconds"] = dict(row["usage"]["seconds"])
    assert rows == [json.loads(json.dumps(asdict(result))) for result in results]
    assert [row["error"] is None for row in rows] == [True, True, False] * 2
