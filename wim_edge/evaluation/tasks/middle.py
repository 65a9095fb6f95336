"""The tasks of "Lost in the Middle" (Liu et al. 2023).

    multidoc   section 3: one of K documents, the gold document, contains the answer. Each question is asked with the
               gold document at each of several positions. The other K-1 documents are the most relevant ones in the
               data. They have the same order for all positions: by relevance, or random (appendix B).
    kv         section 4: the value of one of K UUID keys in a JSON object, at each of several positions
    reader     section 6: BM25 retrieves the k best passages of a library, and the model answers from them, best first.
               The retriever's recall is reported too: the share of a query's gold pages that are among the k passages.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wim_edge.documents import Document
from wim_edge.documents.data_files import Row, parse_rows
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.baselines import kv_prompt
from wim_edge.evaluation.example import CountTokens, Example, Passage, Query, as_documents, load_queries, take_part
from wim_edge.evaluation.metrics import literal
from wim_edge.evaluation.tasks.questions import QAExample, load_multidoc, load_passages
from wim_edge.evaluation.tasks.task import GENERATED, Task, TaskOptions, one, positions, score_answer
from wim_edge.words import WordIndex


def build_multidoc(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds examples of ``options.documents`` documents (default: 10), with the gold document at each position."""
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
    return [example for question in questions for example in _place_gold(question, k, wanted, options)]


def _place_gold(question: QAExample, k: int, wanted: tuple[int, ...], options: TaskOptions) -> Iterator[Example]:
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


MULTIDOC = Task(
    name="multidoc",
    source="Liu et al. 2023, Lost in the Middle, section 3",
    metric="accuracy",
    swept="position",
    takes=("data", "part", "documents", "positions", "order"),
    needs=("data",),
    build=build_multidoc,
    score=score_answer,
    reorders=True,
)


Pair = tuple[str, str]


@dataclass(frozen=True)
class Records:
    """The key-value pairs of a JSON object: the pair that the question asks for, and the others in their order."""

    wanted: Pair
    others: tuple[Pair, ...]


def generate_kv(k: int, n: int, seed: int) -> list[Records]:
    """Returns ``n`` objects of ``k`` random UUID pairs. With a larger ``n``, the first objects are the same."""
    return [_random_pairs(k, random.Random(f"{seed} kv {index}")) for index in range(n)]


def build_kv(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds examples of ``options.documents`` pairs, with the requested pair at each of ``options.positions``."""
    k = one(options.documents, 0, "--documents")
    if options.data is not None:
        found = parse_rows(options.data, _parse_pairs, "{ordered_kv_records: [[key, value]], key, value}")
        rows = take_part(found, options.part or "all", key=lambda row: row.wanted)[: options.limit]
        k = k or min(len(row.others) for row in rows) + 1
        if any(len(row.others) + 1 < k for row in rows):
            raise InvalidRequestError(f"{options.data.name} has rows of less than {k} pairs",
                                      "Ask for fewer --documents, or leave --data away to generate pairs.")  # fmt: skip
    else:
        if options.part is not None:
            raise InvalidRequestError("pairs that are generated have no parts", "Add --data, or leave --part away.")
        k = k or 75
        rows = generate_kv(k, GENERATED if options.limit is None else options.limit, options.seed)
    wanted = positions(options, k)
    return [example for index, row in enumerate(rows) for example in _place_pair(row, index, k, wanted)]


def _place_pair(row: Records, index: int, k: int, wanted: tuple[int, ...]) -> Iterator[Example]:
    others = row.others[: k - 1]
    question = f'What is the value of the key "{row.wanted[0]}"?'
    for x in wanted:
        text, chars = serialize([*others[:x], row.wanted, *others[x:]], x)
        documents, facts = (Document("data.json", text),), {"pairs": k, "key": row.wanted[0]}
        yield Example(
            f"kv-{index}@{x}", f"kv-{index}", documents, question, (row.wanted[1],), (0,), chars, x, facts
        )


def serialize(pairs: list[Pair], at: int) -> tuple[str, tuple[int, int]]:
    """Returns a JSON object, one pair a line (Liu et al., figure 7), and the offsets [start, end) of pair ``at``."""
    lines = [f'"{key}": "{value}"' for key, value in pairs]
    start = 1 + sum(len(line) + 3 for line in lines[:at])  # 3: a comma, the line's end, a space
    return "{" + ",\n ".join(lines) + "}", (start, start + len(lines[at]))


def _parse_pairs(row: Row, _number: int) -> Iterator[Records]:
    """Yields a row's pairs. The row is in the format of the repository of "Lost in the Middle"."""
    pairs = [(str(key), str(value)) for key, value in row["ordered_kv_records"]]
    wanted = (str(row["key"]), str(row["value"]))
    if wanted not in pairs:
        raise ValueError("the key is not among the records")
    yield Records(wanted, tuple(pair for pair in pairs if pair != wanted))


def _random_pairs(k: int, rng: random.Random) -> Records:
    def name() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))

    pairs = [(name(), name()) for _ in range(max(1, k))]
    return Records(pairs[0], tuple(pairs[1:]))


KV = Task(
    name="kv",
    source="Liu et al. 2023, Lost in the Middle, section 4",
    metric="accuracy",
    swept="position",
    takes=("data", "part", "documents", "positions"),
    needs=(),
    build=build_kv,
    score=lambda example, reply: {"accuracy": literal(reply.text if reply else "", example.answers[0])},
    source_prompt=lambda example: kv_prompt(example.documents[0].text, example.facts["key"]),
)


def build_reader(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds an example for each query and k in ``options.documents`` (default: 1, 5, 10, 20), with k passages.

    The model is not asked a query without known answers: only the retriever's recall is scored.
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
        _with_recall(index, query, [library[number] for number in best[:k]], k)
        for index, (query, best) in enumerate(zip(queries, ranked, strict=True))
        for k in ks
    ]


def retrieve(library: Sequence[Passage], queries: list[str], k: int) -> list[list[int]]:
    """Returns for each query the indices of the ``k`` best passages, best first, by BM25 over title and text."""
    with WordIndex(f"{passage.title}\n{passage.text}" for passage in library) as index:
        found = [index.scores(query) for query in queries]
    return [sorted(range(len(library)), key=lambda n: -scores.get(n, 0.0))[:k] for scores in found]


def _with_recall(index: int, query: Query, passages: list[Passage], k: int) -> Example:
    found = [replace(passage, gold=passage.title in query.titles) for passage in passages]
    documents, gold = as_documents(found)
    titles = {passage.title for passage in found if passage.gold}
    recall = len(titles) / len(set(query.titles))
    return Example(f"{index}@{k}", str(index), documents, query.question, query.answers, gold, x=k,
                   facts={"recall": recall})  # fmt: skip


READER = Task(
    name="reader",
    source="Liu et al. 2023, Lost in the Middle, section 6",
    metric="accuracy",
    swept="documents",
    takes=("data", "library", "part", "documents"),
    needs=("data", "library"),
    build=build_reader,
    score=score_answer,
)
