"""Examples of a task with their passages, queries of a library, and the part of the rows that a run uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from wim_edge.documents import Document, with_unique_names
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.documents.document import short
from wim_edge.errors import InvalidRequestError

CountTokens = Callable[[str], int]
"""A function that counts a text's tokens for the evaluated model."""


@dataclass(frozen=True)
class Example:
    """One question with its documents."""

    id: str
    """A name that is unique within a run."""
    group: str
    """The id of its question. Examples of the same question are not independent, and count as one question."""
    documents: tuple[Document, ...]
    question: str
    answers: tuple[str, ...]
    """The right answers. Any one of them is enough. Empty if unknown: the example then counts only for retrieval."""
    gold: tuple[int, ...] = ()
    """The indices of the documents that contain the answer; empty if unknown."""
    gold_chars: tuple[int, int] | None = None
    """The offsets [start, end) in the gold document that contain the answer; None: anywhere in the document."""
    x: int | None = None
    """The swept value: a position, a number of documents, or a length in tokens."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Other facts to record about the example; JSON values."""
    unanswerable: bool = False
    """True if the documents do not contain the answer. The right reply is then that they do not."""
    shelf: str | None = None
    """A name for the documents if several questions share them. They are then read once, as with `ask`. None: each
    question reads its documents as if for the first time."""

    @property
    def is_asked(self) -> bool:
        """Returns True if the model is asked; otherwise only the example's facts count."""
        return bool(self.answers) or self.unanswerable

    @property
    def gold_documents(self) -> tuple[Document, ...]:
        """Returns the documents that contain the answer, cut to `gold_chars` if these are known."""
        place = slice(*(self.gold_chars or (None,)))
        return tuple(replace(one, text=one.text[place], marks=()) for one in map(self.documents.__getitem__, self.gold))


@dataclass(frozen=True)
class Passage:
    """A titled text. ``gold``: True if it contains the answer or a part of it."""

    title: str
    text: str
    gold: bool = False

    def __post_init__(self) -> None:
        text_of(self.title), text_of(self.text)


def as_documents(passages: Iterable[Passage]) -> tuple[tuple[Document, ...], tuple[int, ...]]:
    """Returns passages as documents with different names, and the indices of the gold ones.

    The title is the name, so that a document has the same heading alone (pattern oracle) as among other documents.
    """
    passages = tuple(passages)
    found = with_unique_names(Document(passage.title.strip() or "Untitled", passage.text) for passage in passages)
    documents = tuple(replace(document, title=document.name) for document in found)
    return documents, tuple(index for index, passage in enumerate(passages) if passage.gold)


@dataclass(frozen=True)
class Query:
    """A question, its answers if known, and the titles of the pages that contain an answer."""

    question: str
    evidence: tuple[frozenset[str], ...]
    """Sets of pages' titles. All pages of any one set together answer the question."""
    answers: tuple[str, ...]

    @property
    def titles(self) -> frozenset[str]:
        return frozenset().union(*self.evidence)


def load_queries(path: Path) -> list[Query]:
    """Returns the queries in a file. Its rows are {question, titles, answers}, or {question, ctxs: [{title, isgold}],
    answers}, or rows of KILT (Petroni et al. 2021): {input, output: [{answer, provenance: [{title}]}]}."""
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


Part = Literal["all", "choose", "report"]
PARTS: tuple[Part, ...] = get_args(Part)
CHOSEN_SHARE = 1 / 3

T = TypeVar("T")


def take_part(rows: Iterable[T], part: Part, key: Callable[[T], Hashable]) -> list[T]:
    """Returns the rows of a part, in their order. Rows with the same key are in the same part.

    Raises InvalidRequestError for an empty part.
    """
    rows = list(rows)
    if part == "all":
        return rows
    keys = list(dict.fromkeys(map(key, rows)))
    chosen = set(keys[: math.ceil(len(keys) * CHOSEN_SHARE)])
    kept = [row for row in rows if (key(row) in chosen) == (part == "choose")]
    if not kept:
        raise InvalidRequestError(f"of {len(keys)} rows none is left to {part}", "Leave --part away.")
    return kept


def list_of(value: Any) -> list[Any]:
    """Returns the value if it is a list. Raises TypeError for anything else, such as a text."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} where a list should be")
    return value


def answers_of(value: Any) -> tuple[str, ...]:
    """Returns one answer or a list of them, texts or numbers, as texts. Raises TypeError for anything else, ValueError
    for one that is blank."""
    values = value if isinstance(value, list | tuple) else [value]
    answers = tuple(text_of(str(one) if type(one) in (int, float) else one) for one in values)
    if any(not answer.strip() for answer in answers):
        raise ValueError("an answer is blank")
    return answers


def flag_of(value: Any) -> bool:
    """Returns true, false, 1 or 0 as a bool. Raises TypeError for anything else, such as "false"."""
    if value not in (0, 1):
        raise TypeError(f"{value!r:.40} where true or false should be")
    return bool(value)
