"""Multi-document question answering ("Lost in the Middle", section 3): one of K documents answers.

The same K documents are shown once for each position of the gold one. The K-1 distractors, the most relevant
that the data has, stand in a random order that is the same for all positions (appendix B), so that nothing but
the position differs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, as_documents
from wim_edge.evaluation.metrics import match
from wim_edge.evaluation.tasks.questions import Question, load_multidoc
from wim_edge.evaluation.tasks.task import Options, Task, one, positions


def build(options: Options, _count_tokens: CountTokens) -> list[Example]:
    """The gold document at each of ``options.positions`` among ``options.documents``, by default 10."""
    assert options.data is not None
    k = one(options.documents, 10, "--documents")
    wanted = positions(options, k)
    questions = load_multidoc(options.data)[: options.limit]
    short = sum(len(question.passages) < k for question in questions)
    if short:
        raise InvalidRequestError(
            f"{short} of {len(questions)} rows of {options.data.name} have fewer than {k} documents",
            "Ask for fewer --documents, or take these rows out.",
        )
    return [example for question in questions for example in _place(question, k, wanted, options.seed)]


def _place(question: Question, k: int, wanted: tuple[int, ...], seed: int) -> Iterator[Example]:
    gold, *others = question.passages
    distractors = others[: k - 1]
    random.Random(f"{seed} {question.id}").shuffle(distractors)
    for x in wanted:
        documents, golds = as_documents([*distractors[:x], gold, *distractors[x:]])
        facts = {"documents": k, "position": x}
        yield Example(
            f"{question.id}@{x}", question.id, documents, question.question, question.answers, golds, x=x, facts=facts
        )


TASK = Task(
    name="multidoc",
    source="Liu et al. 2023, Lost in the Middle, section 3",
    metric="accuracy",
    swept="position",
    takes=("data", "documents", "positions"),
    needs=("data",),
    build=build,
    score=lambda example, output: {"accuracy": match(output, example.answers)},
)
