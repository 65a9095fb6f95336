"""Questions for a library, with the pages that answer them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents.data_files import Row, answers_of, flag_of, list_of, parse_rows, text_of
from wim_edge.documents.document import short


@dataclass(frozen=True)
class Query:
    """A question, its answers, where known, and the pages, by title, that hold them."""

    question: str
    evidence: tuple[frozenset[str], ...]
    """Sets of pages: all of one set together answer the question."""
    answers: tuple[str, ...]

    @property
    def titles(self) -> frozenset[str]:
        """Returns the titles of all pages of evidence."""
        return frozenset().union(*self.evidence)


def load_queries(path: Path) -> list[Query]:
    """Returns queries from rows of {question, titles, answers}, or ``ctxs`` (``isgold`` ones name the titles), or
    KILT (Petroni et al. 2021): ``input`` and ``output``, each with its ``answer`` and its ``provenance``'s titles."""
    return parse_rows(path, _parse, "{question, titles, answers} or {input, output: [{answer, provenance: [{title}]}]}")


def _parse(row: Row, _number: int) -> Iterator[Query]:
    if "output" in row:
        output = row["output"]
        sets = [[place["title"] for place in one.get("provenance") or ()] for one in output]
        answers = answers_of([one["answer"] for one in output if one.get("answer")])
        question = row["input"]
    else:
        gold_ctxs = [c["title"] for c in row.get("ctxs", ()) if flag_of(c["isgold"])]
        sets = [list_of(row["titles"]) if "ctxs" not in row else gold_ctxs]
        question, answers = row["question"], answers_of(row.get("answers") or ())
    evidence = dict.fromkeys(frozenset(short(text_of(title)) for title in titles) for titles in sets if titles)
    if not evidence:
        raise ValueError("no gold titles")
    yield Query(text_of(question), tuple(evidence), answers)
