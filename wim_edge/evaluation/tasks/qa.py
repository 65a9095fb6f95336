"""Question answering over a context of a given length: a question's own paragraphs among those of other questions.

Writing in the Margins (section 4) uses HotpotQA, MultiHop-RAG and SQuAD in this way; MuSiQue is our addition. The task
babilong (Kuratov et al. 2024) is different: facts are scattered in a long book.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from wim_edge.documents import Document
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, Passage, answers_of, as_documents, take_part
from wim_edge.evaluation.metrics import contains, normalize, one_label
from wim_edge.evaluation.tasks.questions import (
    QAExample,
    load_hotpotqa,
    load_multihoprag,
    load_musique,
    load_squad,
)
from wim_edge.evaluation.tasks.task import Task, TaskOptions, score_answer

_MISSES = 8
"""After this number of paragraphs in a row that do not fit, no more are tried for a context."""


def build(
    questions: list[QAExample], pool: Sequence[Passage], options: TaskOptions, count_tokens: CountTokens
) -> list[Example]:
    """Builds an example for each question and each length in ``options.length`` (in tokens; default: 4,000)."""
    lengths = tuple(dict.fromkeys(options.length)) or (4000,)
    if min(lengths) < 1:
        raise InvalidRequestError(f"--length is {min(lengths)}", "It takes tokens, at least 1.")
    count = functools.cache(lambda passage: count_tokens(f"{passage.title}\n{passage.text}"))
    found = []
    for question in questions[: options.limit]:
        for length in lengths:
            rng = random.Random(f"{options.seed} {question.id}")  # a longer text contains a shorter one's paragraphs
            passages, facts = stretch(question, pool, length, count, rng)
            rng.shuffle(passages)
            documents, gold = as_documents(passages)
            found.append(
                Example(f"{question.id}@{length}", question.id, documents, question.question, question.answers, gold,
                        x=length, facts=facts)
            )  # fmt: skip
    return found


def stretch(
    question: QAExample, pool: Sequence[Passage], length: int, count: Callable[[Passage], int], rng: random.Random
) -> tuple[list[Passage], dict[str, Any]]:
    """Returns (paragraphs, facts): all gold paragraphs, then others as long as the total is at most ``length`` tokens.

    The question's own other paragraphs come before those of ``pool``. The facts are ``tokens``, the total, and
    ``longer_than_asked``: True if the gold paragraphs alone exceed ``length``.
    """
    kept = [passage for passage in question.passages if passage.gold]
    total = sum(map(count, kept))
    facts = {"longer_than_asked": True} if total > length else {}
    others = [passage for passage in question.passages if not passage.gold]
    rng.shuffle(others)
    misses = 0
    for passage in itertools.chain(others, _foreign(question, pool, rng)) if total < length else ():
        if total + count(passage) <= length:
            kept.append(passage)
            total, misses = total + count(passage), 0
        elif (misses := misses + 1) == _MISSES:
            break
    return kept, {"tokens": total, **facts}


def _foreign(question: QAExample, pool: Sequence[Passage], rng: random.Random) -> Iterator[Passage]:
    """Yields the pool's paragraphs in random order. Leaves out those that contain an answer, or have the title of one
    of the question's paragraphs."""
    titles = {passage.title for passage in question.passages}
    telling = [answer for answer in question.answers if normalize(answer) not in ("yes", "no")]
    drawn: set[int] = set()
    while len(drawn) < len(pool):
        number = rng.randrange(len(pool))
        if number in drawn:
            continue
        drawn.add(number)
        if pool[number].title not in titles and not contains(pool[number].text, telling):
            yield pool[number]


def _task(
    name: str, source: str, load: Callable[[Path, TaskOptions], tuple[list[QAExample], list[Passage]]], *takes: str,
    shuffled: bool = False,
) -> Task:  # fmt: skip
    """Returns a task. ``shuffled``: True to shuffle the questions, because neighbours in the file share a paragraph."""

    def build_from_file(options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
        assert options.data is not None
        rows, library = load(options.data, options)
        # Rows of one and the same page are in one part
        questions = take_part(
            rows, options.part or "all", key=lambda row: row.passages[0].title if len(row.passages) == 1 else row.id
        )
        if shuffled:
            random.Random(f"{options.seed} {name}").shuffle(questions)
        every = dict.fromkeys(Passage(p.title, p.text) for row in rows for p in row.passages)  # none marked as gold
        return build(questions, library or list(every), options, count_tokens)

    takes = ("data", "part", *takes, "length")
    return Task(name, source, "accuracy", "length", takes, ("data",), build_from_file, score_answer)


TASKS = (
    _task("hotpotqa", "Yang et al. 2018; Writing in the Margins, section 4", lambda path, _: (load_hotpotqa(path), [])),
    _task("musique", "Trivedi et al. 2022", lambda path, _: (load_musique(path), [])),
    _task("multihoprag", "Tang and Yang 2024; Writing in the Margins, section 4",
          lambda path, options: load_multihoprag(path, options.library), "library"),
    _task("squad", "Rajpurkar et al. 2016; Writing in the Margins, section 4", lambda path, _: (load_squad(path), []),
          shuffled=True),
)  # fmt: skip


def build_babilong(options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
    """Builds an example from each row. The row's context is the example's only document."""
    assert options.data is not None
    found = parse_rows(options.data, _parse_babilong, "{input, question, target} or {context, query, target}")
    rows = take_part(found, options.part or "all", key=lambda row: row[0])
    return [
        Example(f"babilong-{index}", f"babilong-{index}", (Document("book.txt", context),), question, (target,),
                facts={"tokens": count_tokens(context)})
        for index, (context, question, target) in enumerate(rows[: options.limit])
    ]  # fmt: skip


def _parse_babilong(row: Row, _number: int) -> Iterator[tuple[str, str, str]]:
    """Yields (context, question, target) from a row. The row is {input, question, target}, as published, or {context,
    target} with the question as ``query``, ``question`` or ``input``."""
    context, names = (row["context"], ("query", "question", "input")) if "context" in row else (
        row["input"], ("question", "query"))  # fmt: skip
    question = next((row[name] for name in names if name in row), None)
    if question is None:
        raise ValueError("no question")
    (target,) = answers_of(row["target"])
    yield text_of(context), text_of(question).strip(), target


BABILONG = Task(
    name="babilong",
    source="Kuratov et al. 2024, BABILong",
    metric="accuracy",
    swept="length",
    takes=("data", "part"),
    needs=("data",),
    build=build_babilong,
    score=lambda example, reply: {
        "accuracy": one_label(reply.text if reply else "", example.question, example.answers[0])
    },
)
