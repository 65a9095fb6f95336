"""The definition of a task, the options for building its examples, and functions that several tasks use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.baselines import qa_prompt
from wim_edge.evaluation.example import CountTokens, Example, Part
from wim_edge.evaluation.metrics import best_subspan_em, contains, f1, first_line
from wim_edge.evaluation.records import Reply
from wim_edge.settings import Settings

GENERATED = 50
"""The number of questions that a task generates if no limit is given."""
Order = Literal["relevance", "random"]


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """The options of a task. A task takes only some. Empty or None stands for the task's default."""

    data: Path | None = None
    library: Path | None = None
    part: Part | None = None
    """The part of the data set to use (`take_part`); None: all rows."""
    limit: int | None = None
    """The maximum number of questions. A question becomes one example for each swept value."""
    documents: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    order: Order | None = None
    """The order of the documents without the answer: ``relevance`` (as in the data, best first) or ``random``."""
    length: tuple[int, ...] = ()
    """The lengths of the context, in tokens of the evaluated model."""
    seed: int = Settings.seed
    pattern: str | None = None
    """The conditions to ask with, for `conditions.parse_conditions`."""
    retriever: str | None = None
    """The retrievers to compare, for `recall.parse_retrievers`. ``size``: the number of passages in the library."""
    size: int | None = None
    prefix: int | None = None
    titles: int | None = None
    """The number of titles whose documents are searched. ``prefix``: the tokens of a passage to decode."""

    def check(self, task: str, takes: Sequence[str], needs: Collection[str]) -> None:
        """Raises InvalidRequestError for an option that the task does not take, and for a missing one. Every task takes
        ``limit`` and ``seed``."""
        takes = (*takes, "limit", "seed")
        usage = f"It takes {', '.join('--' + name for name in takes)}."
        given = [field.name for field in fields(self) if getattr(self, field.name) not in (None, ())]
        if foreign := [name for name in given if name not in takes]:
            raise InvalidRequestError(f"the task {task} takes no --{', --'.join(foreign)}", usage)
        if missing := [name for name in needs if name not in given]:
            raise InvalidRequestError(f"the task {task} needs --{', --'.join(missing)}", usage)


def source_qa_prompt(example: Example) -> str:
    """Returns the prompt of "Lost in the Middle" (figure 2) for an example."""
    random_order = example.facts.get("order") == "random"
    return qa_prompt(example.documents, example.question, random_order=random_order)


@dataclass(frozen=True)
class Task:
    """A task: how its examples are built and its answers scored."""

    name: str
    source: str
    """The publication whose method the task follows."""
    metric: str
    """The name of the main score."""
    swept: Literal["position", "documents", "length"]
    """The meaning of `Example.x`: the gold position, the number of documents, or the context's length."""
    takes: tuple[str, ...]
    """The fields of `TaskOptions` that the task takes, besides pattern, limit and seed."""
    needs: tuple[str, ...]
    """The fields among ``takes`` that are required."""
    build: Callable[[TaskOptions, CountTokens], list[Example]]
    score: Callable[[Example, Reply | None], dict[str, float]]
    """Returns a reply's scores by name, 0 to 1, with the main score. The reply is None if the question failed."""
    source_prompt: Callable[[Example], str] = source_qa_prompt
    """Returns the prompt of the condition ``llm:source``."""
    reorders: bool = False
    """True if a question's examples contain the same documents, each as a separate text, in different orders."""

    def examples(self, options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
        """Returns the examples; equal options give equal examples. Raises InvalidRequestError for an option that the
        task does not take, for a missing option, and for data in another format."""
        options.check(self.name, (*self.takes, "pattern"), self.needs)
        return self.build(options, count_tokens)


def one(numbers: tuple[int, ...], default: int, option: str) -> int:
    """Returns the only number in ``numbers``; ``default`` if it is empty. Raises InvalidRequestError for several."""
    if len(numbers) > 1:
        raise InvalidRequestError(f"several numbers for {option}", "This task takes one.")
    return numbers[0] if numbers else default


def positions(options: TaskOptions, k: int) -> tuple[int, ...]:
    """Returns the gold document's positions among ``k`` documents, from 0: those given, or first, middle and last."""
    if k < 1:
        raise InvalidRequestError(f"--documents is {k}", "It takes at least 1.")
    for position in options.positions:
        if not 0 <= position < k:
            raise InvalidRequestError(f"position {position} among {k}", f"Positions go from 0 to {k - 1}.")
    return tuple(dict.fromkeys(options.positions or (0, (k - 1) // 2, k - 1)))


def score_answer(example: Example, reply: Reply | None) -> dict[str, float]:
    """Returns ``accuracy`` (`best_subspan_em`), ``contains`` (over the whole reply) and ``f1`` (of the short answer, or
    else of the first line). All are 0 if ``reply`` is None, because the question failed."""
    if reply is None:
        return dict.fromkeys(("accuracy", "contains", "f1"), 0.0)
    text = reply.text
    return {
        "accuracy": best_subspan_em(text, example.answers),
        "contains": contains(text, example.answers),
        "f1": f1(reply.short or first_line(text), example.answers),
    }
