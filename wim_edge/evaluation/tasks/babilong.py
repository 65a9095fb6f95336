"""BABILong (Kuratov et al. 2024): a bAbI question whose facts are scattered in a long book."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wim_edge.documents import Document
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.evaluation.example import CountTokens, Example, answers_of, take_part
from wim_edge.evaluation.metrics import one_label
from wim_edge.evaluation.tasks.task import Task, TaskOptions


def load_babilong(path: Path) -> list[tuple[str, str, str]]:
    """Returns (context, question, target) of rows of {input, question, target}, as published, or with ``context`` and
    ``query``, ``question`` or ``input``."""
    return parse_rows(path, _parse, "{input, question, target} or {context, query, target}")


def build(options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
    """Builds an example from each row, with its context as one document."""
    assert options.data is not None
    rows = take_part(load_babilong(options.data), options.part or "all", key=lambda row: row[0])
    return [
        Example(f"babilong-{index}", f"babilong-{index}", (Document("book.txt", context),), question, (target,),
                facts={"tokens": count_tokens(context)})
        for index, (context, question, target) in enumerate(rows[: options.limit])
    ]  # fmt: skip


def _parse(row: Row, _number: int) -> Iterator[tuple[str, str, str]]:
    context, names = (row["context"], ("query", "question", "input")) if "context" in row else (
        row["input"], ("question", "query"))  # fmt: skip
    question = next((row[name] for name in names if name in row), None)
    if question is None:
        raise ValueError("no question")
    (target,) = answers_of(row["target"])
    yield text_of(context), text_of(question).strip(), target


TASK = Task(
    name="babilong",
    source="Kuratov et al. 2024, BABILong",
    metric="accuracy",
    swept="length",
    takes=("data", "part"),
    needs=("data",),
    build=build,
    score=lambda example, reply: {
        "accuracy": one_label(reply.text if reply else "", example.question, example.answers[0])
    },
)
