"""Key-value retrieval ("Lost in the Middle", section 4): the value of one of K UUID keys in a JSON object."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents import Document
from wim_edge.documents.data_files import Row, parse_rows
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, take_part
from wim_edge.evaluation.metrics import literal
from wim_edge.evaluation.source_prompt import kv_prompt
from wim_edge.evaluation.tasks.task import GENERATED, Task, TaskOptions, one, positions

Pair = tuple[str, str]


@dataclass(frozen=True)
class Records:
    """Key-value pairs: the one that is asked for, and ``others``."""

    wanted: Pair
    others: tuple[Pair, ...]


def load_kv(path: Path) -> list[Records]:
    """Returns rows of {ordered_kv_records: [[key, value]], key, value}, as in the paper's repository."""
    return parse_rows(path, _parse, "{ordered_kv_records: [[key, value]], key, value}")


def generate_kv(k: int, n: int, seed: int) -> list[Records]:
    """Generates ``n`` objects of ``k`` random pairs. The first ones do not depend on ``n``."""
    return [_generate(k, random.Random(f"{seed} kv {index}")) for index in range(n)]


def build(options: TaskOptions, _count_tokens: CountTokens) -> list[Example]:
    """Builds examples of ``options.documents`` pairs, with the wanted pair at each of ``options.positions``."""
    k = one(options.documents, 0, "--documents")
    if options.data is not None:
        rows = take_part(load_kv(options.data), options.part or "all", key=lambda row: row.wanted)[: options.limit]
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
    return [example for index, row in enumerate(rows) for example in _place(row, index, k, wanted)]


def _place(row: Records, index: int, k: int, wanted: tuple[int, ...]) -> Iterator[Example]:
    others = row.others[: k - 1]
    question = f'What is the value of the key "{row.wanted[0]}"?'
    for x in wanted:
        text, chars = serialize([*others[:x], row.wanted, *others[x:]], x)
        document = Document("data.json", text)
        yield Example(
            f"kv-{index}@{x}",
            f"kv-{index}",
            (document,),
            question,
            (row.wanted[1],),
            (0,),
            chars,
            x,
            {"pairs": k, "key": row.wanted[0]},
        )


def serialize(pairs: list[Pair], at: int) -> tuple[str, tuple[int, int]]:
    """Returns a JSON object with a pair per line, as in figure 7 of the paper, and the offsets of pair ``at``."""
    lines = [f'"{key}": "{value}"' for key, value in pairs]
    start = 1 + sum(len(line) + 3 for line in lines[:at])  # 3: a comma, the line's end, a space
    return "{" + ",\n ".join(lines) + "}", (start, start + len(lines[at]))


def _parse(row: Row, _number: int) -> Iterator[Records]:
    pairs = [(str(key), str(value)) for key, value in row["ordered_kv_records"]]
    wanted = (str(row["key"]), str(row["value"]))
    if wanted not in pairs:
        raise ValueError("the key is not among the records")
    yield Records(wanted, tuple(pair for pair in pairs if pair != wanted))


def _generate(k: int, rng: random.Random) -> Records:
    def name() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))

    pairs = [(name(), name()) for _ in range(max(1, k))]
    return Records(pairs[0], tuple(pairs[1:]))


TASK = Task(
    name="kv",
    source="Liu et al. 2023, Lost in the Middle, section 4",
    metric="accuracy",
    swept="position",
    takes=("data", "part", "documents", "positions"),
    needs=(),
    build=build,
    score=lambda example, reply: {"accuracy": literal(reply.text if reply else "", example.answers[0])},
    source_prompt=lambda example: kv_prompt(example.documents[0].text, example.facts["key"]),
)
