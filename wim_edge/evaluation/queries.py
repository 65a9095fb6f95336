"""Questions that a library is to answer, with the pages that do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents.document import short
from wim_edge.documents.rows import Row, answers_of, flag_of, list_of, parse_rows, text_of


@dataclass(frozen=True)
class Query:
    """A question, the titles of the pages that hold its answer, and the answers, where known."""

    question: str
    titles: tuple[str, ...]
    answers: tuple[str, ...]


def load_queries(path: Path) -> list[Query]:
    """Rows of {question, titles, answers}; with ``ctxs`` whose ``isgold`` ones name the titles; or KILT's (Petroni
    et al. 2021): ``input`` and ``output`` with its ``answer`` and the titles of its ``provenance``."""
    return parse_rows(path, _parse, "{question, titles, answers} or {input, output: [{answer, provenance: [{title}]}]}")


def _parse(row: Row, _number: int) -> Iterator[Query]:
    if "output" in row:
        output = row["output"]
        titles = [text_of(place["title"]) for one in output for place in one.get("provenance") or ()]
        answers = answers_of([one["answer"] for one in output if one.get("answer")])
        question = row["input"]
    else:
        gold_ctxs = [c["title"] for c in row.get("ctxs", ()) if flag_of(c["isgold"])]
        titles = list_of(row["titles"]) if "ctxs" not in row else gold_ctxs
        question, answers = row["question"], answers_of(row.get("answers") or ())
    if not titles:
        raise ValueError("no gold titles")
    gold = tuple(dict.fromkeys(short(text_of(title)) for title in titles))  # as the library writes them
    yield Query(text_of(question), gold, answers)
