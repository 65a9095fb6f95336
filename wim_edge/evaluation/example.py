"""Examples of tasks, queries to a library, and the choice of the rows of a data set that a run uses."""

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
"""A function that returns the number of tokens of a text, by the evaluated model's tokenizer."""


@dataclass(frozen=True)
class Example:
    """A question about documents."""

    id: str
    """A name that is unique within a run."""
    group: str
    """The question's id. Examples of the same question are not independent, and count as one question."""
    documents: tuple[Document, ...]
    question: str
    answers: tuple[str, ...]
    """The right answers; in most tasks one is enough. Empty if they are unknown, or the question is unanswerable."""
    gold: tuple[int, ...] = ()
    """The indices of the documents that contain the answer; empty if unknown."""
    gold_chars: tuple[int, int] | None = None
    """The offsets [start, end) of the gold text, in characters of the gold document; None: the whole document."""
    x: int | None = None
    """The swept value: the gold document's position, the number of documents, or the context's length in tokens."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Other values to record about the example, by name, such as ``tokens``; JSON values."""
    unanswerable: bool = False
    """True if the documents do not contain the answer. The right reply is then "not found"."""
    shelf: str | None = None
    """A name for documents that several questions share. The documents are read once, and the saved reading serves all
    these questions, as with `wim-edge ask`. None: each question reads its documents anew."""

    @property
    def is_asked(self) -> bool:
        """Returns True if the model is asked: the answers are known, or the question is known to be unanswerable."""
        return bool(self.answers) or self.unanswerable

    @property
    def gold_documents(self) -> tuple[Document, ...]:
        """Returns the documents that contain the answer. If `gold_chars` are known, their texts are cut to these."""
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
    """Returns the passages as documents with unique names, and the indices of the gold documents.

    A prompt shows the title of a single document, but the names of several. So that a document has the same heading in
    both cases (condition oracle shows it alone), its title is set to its name.
    """
    passages = tuple(passages)
    found = with_unique_names(Document(passage.title.strip() or "Untitled", passage.text) for passage in passages)
    documents = tuple(replace(document, title=document.name) for document in found)
    return documents, tuple(index for index, passage in enumerate(passages) if passage.gold)


@dataclass(frozen=True)
class Query:
    """A question to a library, with the titles of the pages that answer it. ``answers``: empty if unknown."""

    question: str
    evidence: tuple[frozenset[str], ...]
    """Sets of page titles. The pages of one set together answer the question; any one set is enough."""
    answers: tuple[str, ...]

    @property
    def titles(self) -> frozenset[str]:
        return frozenset().union(*self.evidence)


def load_queries(path: Path) -> list[Query]:
    """Returns the queries in a file. A row is {question, titles, answers}, {question, ctxs: [{title, isgold}],
    answers}, or in KILT's format (Petroni et al. 2021): {input, output: [{answer, provenance: [{title}]}]}."""
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
    """Returns the rows of ``part`` in order: all, those of the first third of the keys (choose), or the rest (report).

    Rows with the same key are in the same part. Raises InvalidRequestError if the part has no rows.
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
    """Returns ``value`` if it is a list. Raises TypeError for anything else, such as a string."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} where a list should be")
    return value


def answers_of(value: Any) -> tuple[str, ...]:
    """Returns the right answers in ``value`` (a string, a number, or a list of these) as strings. Raises TypeError for
    another type, ValueError for a blank answer."""
    values = value if isinstance(value, list | tuple) else [value]
    answers = tuple(text_of(str(one) if type(one) in (int, float) else one) for one in values)
    if any(not answer.strip() for answer in answers):
        raise ValueError("an answer is blank")
    return answers


def flag_of(value: Any) -> bool:
    """Returns ``value`` (true, false, 1 or 0) as a bool. Raises TypeError for anything else, such as "false"."""
    if value not in (0, 1):
        raise TypeError(f"{value!r:.40} where true or false should be")
    return bool(value)
