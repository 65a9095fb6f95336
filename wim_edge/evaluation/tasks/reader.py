"""Retriever and reader ("Lost in the Middle", section 6): is more context always better?

For each k, BM25 retrieves the k best passages of a library, and the model answers from them in the retriever's order.
The retriever's recall is reported too: the share of the gold pages that are among the k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, Passage, Query, as_documents, load_queries, take_part
from wim_edge.evaluation.tasks.questions import load_passages
from wim_edge.evaluation.tasks.task import Task, TaskOptions, score_answer
from wim_edge.words import WordIndex


def build(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds examples of the best k passages for each query and k of ``options.documents``, by default 1, 5, 10 and 20.

    The model is not asked a query without answers; it counts for recall.
    """
    assert options.data is not None
    assert options.library is not None
    ks = tuple(dict.fromkeys(options.documents)) or (1, 5, 10, 20)
    rows = load_queries(options.data)
    queries = take_part(rows, options.part or "all", key=lambda row: row.question)[: options.limit]
    library = load_passages(options.library)
    if not 1 <= min(ks) <= max(ks) <= len(library):
        raise InvalidRequestError(f"--documents {min(ks)} to {max(ks)} of a library of {len(library):,} passages",
                                  f"It takes 1 to {len(library):,}.")  # fmt: skip
    ranked = retrieve(library, [query.question for query in queries], max(ks))
    return [
        _example(index, query, [library[number] for number in best[:k]], k)
        for index, (query, best) in enumerate(zip(queries, ranked, strict=True))
        for k in ks
    ]


def retrieve(library: Sequence[Passage], queries: list[str], k: int) -> list[list[int]]:
    """Returns the k best passages for each query by BM25 over title and text, best first."""
    with WordIndex(f"{passage.title}\n{passage.text}" for passage in library) as index:
        found = [index.scores(query) for query in queries]
    return [sorted(range(len(library)), key=lambda n: -scores.get(n, 0.0))[:k] for scores in found]


def _example(index: int, query: Query, passages: list[Passage], k: int) -> Example:
    found = [replace(passage, gold=passage.title in query.titles) for passage in passages]
    documents, gold = as_documents(found)
    titles = {passage.title for passage in found if passage.gold}
    recall = len(titles) / len(set(query.titles))
    return Example(f"{index}@{k}", str(index), documents, query.question, query.answers, gold, x=k,
                   facts={"recall": recall})  # fmt: skip


TASK = Task(
    name="reader",
    source="Liu et al. 2023, Lost in the Middle, section 6",
    metric="accuracy",
    swept="documents",
    takes=("data", "library", "part", "documents"),
    needs=("data", "library"),
    build=build,
    score=score_answer,
)
