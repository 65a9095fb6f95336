"""Question answering at a wanted length: a question's own paragraphs among paragraphs of other questions.

So HotpotQA, MultiHop-RAG and SQuAD are used in Writing in the Margins (section 4), and MuSiQue beside them.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, Passage, as_documents
from wim_edge.evaluation.metrics import f1, match, normalize
from wim_edge.evaluation.tasks.questions import (
    Question,
    load_hotpotqa,
    load_multihoprag,
    load_musique,
    load_squad,
)
from wim_edge.evaluation.tasks.task import Options, Task

_MISSES = 8
"""A text is full when so many paragraphs in a row do not fit any more."""


def build(
    questions: list[Question], pool: Sequence[Passage], options: Options, count_tokens: CountTokens
) -> list[Example]:
    """Each question at each of ``options.length``, by default 4,000 tokens."""
    lengths = tuple(dict.fromkeys(options.length)) or (4000,)
    if min(lengths) < 1:
        raise InvalidRequestError(f"--length is {min(lengths)}", "It takes tokens, at least 1.")
    count = functools.cache(lambda passage: count_tokens(f"{passage.title}\n{passage.text}"))
    found = []
    for question in questions[: options.limit]:
        for length in lengths:
            rng = random.Random(f"{options.seed} {question.id}")  # a longer text holds the shorter one's paragraphs
            passages, facts = stretch(question, pool, length, count, rng)
            rng.shuffle(passages)
            documents, gold = as_documents(passages)
            found.append(
                Example(f"{question.id}@{length}", question.id, documents, question.question, question.answers, gold,
                        x=length, facts=facts)
            )  # fmt: skip
    return found


def stretch(
    question: Question, pool: Sequence[Passage], length: int, count: Callable[[Passage], int], rng: random.Random
) -> tuple[list[Passage], dict[str, Any]]:
    """Paragraphs of about ``length`` tokens, titles counted, never more unless the gold ones alone are.

    All gold ones, then the question's others as they fit, then those of the pool. Facts: ``tokens``, and
    ``longer_than_asked`` if the gold ones exceed the length.
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


def _foreign(question: Question, pool: Sequence[Passage], rng: random.Random) -> Iterator[Passage]:
    """Paragraphs of other questions in random order, none of the question's own pages, none with an answer."""
    titles = {passage.title for passage in question.passages}
    telling = [answer for answer in question.answers if normalize(answer) not in ("yes", "no")]
    drawn: set[int] = set()
    while len(drawn) < len(pool):
        number = rng.randrange(len(pool))
        if number in drawn:
            continue
        drawn.add(number)
        if pool[number].title not in titles and not match(pool[number].text, telling):
            yield pool[number]


def pool_of(questions: Iterable[Question]) -> list[Passage]:
    """Every passage of the questions once, none of them gold."""
    return list(dict.fromkeys(Passage(p.title, p.text) for question in questions for p in question.passages))


def _score(example: Example, output: str) -> dict[str, float]:
    return {"accuracy": match(output, example.answers), "f1": f1(output, example.answers)}


def _task(
    name: str, source: str, load: Callable[[Path, Options], tuple[list[Question], list[Passage]]], *takes: str
) -> Task:
    def build_from_file(options: Options, count_tokens: CountTokens) -> list[Example]:
        assert options.data is not None
        questions, library = load(options.data, options)
        return build(questions, library or pool_of(questions), options, count_tokens)

    return Task(name, source, "accuracy", "length", ("data", *takes, "length"), ("data",), build_from_file, _score)


def _alone(load: Callable[[Path], list[Question]]) -> Callable[[Path, Options], tuple[list[Question], list[Passage]]]:
    return lambda path, options: (load(path), [])


def _squad(path: Path, options: Options) -> tuple[list[Question], list[Passage]]:
    """In random order: the file goes article by article, and the first questions share one paragraph."""
    questions = load_squad(path)
    random.Random(f"{options.seed} squad").shuffle(questions)
    return questions, []


TASKS = (
    _task("hotpotqa", "Yang et al. 2018; Writing in the Margins, section 4", _alone(load_hotpotqa)),
    _task("musique", "Trivedi et al. 2022", _alone(load_musique)),
    _task("multihoprag", "Tang and Yang 2024; Writing in the Margins, section 4",
          lambda path, options: load_multihoprag(path, options.library), "library"),
    _task("squad", "Rajpurkar et al. 2016; Writing in the Margins, section 4", _squad),
)  # fmt: skip
