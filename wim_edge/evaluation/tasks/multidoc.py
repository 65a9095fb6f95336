"""Multi-document question answering ("Lost in the Middle", section 3): one of K documents answers.

The same K documents are shown once for each position of the gold one. The K-1 distractors are the most relevant ones of
the data. Their order, by relevance or random (appendix B), is the same for all positions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, as_documents, take_part
from wim_edge.evaluation.tasks.questions import QAExample, load_multidoc
from wim_edge.evaluation.tasks.task import Task, TaskOptions, one, positions, score_answer


def build(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds examples with gold at each of ``options.positions`` among ``options.documents``, by default 10."""
    assert options.data is not None
    k = one(options.documents, 10, "--documents")
    wanted = positions(options, k)
    rows = load_multidoc(options.data)
    questions = take_part(rows, options.part or "all", key=lambda row: row.id)[: options.limit]
    short = sum(len(question.passages) < k for question in questions)
    if short:
        raise InvalidRequestError(
            f"{short} of {len(questions)} rows of {options.data.name} have fewer than {k} documents",
            "Ask for fewer --documents, or take these rows out.",
        )
    return [example for question in questions for example in _place(question, k, wanted, options)]


def _place(question: QAExample, k: int, wanted: tuple[int, ...], options: TaskOptions) -> Iterator[Example]:
    gold, *others = question.passages
    distractors = others[: k - 1]
    order = options.order or "relevance"
    if order == "random":
        random.Random(f"{options.seed} {question.id}").shuffle(distractors)
    for x in wanted:
        documents, golds = as_documents([*distractors[:x], gold, *distractors[x:]])
        facts = {"documents": k, "position": x, "order": order}
        yield Example(
            f"{question.id}@{x}", question.id, documents, question.question, question.answers, golds, x=x, facts=facts
        )


TASK = Task(
    name="multidoc",
    source="Liu et al. 2023, Lost in the Middle, section 3",
    metric="accuracy",
    swept="position",
    takes=("data", "part", "documents", "positions", "order"),
    needs=("data",),
    build=build,
    score=score_answer,
    reorders=True,
)
