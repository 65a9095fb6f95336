"""An example, as a task produces it, ready to be asked; and the passages that examples are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from wim_edge.documents import Document, with_unique_names
from wim_edge.documents.data_files import text_of

CountTokens = Callable[[str], int]
"""A function that counts the tokens that the evaluated model makes of a text."""


@dataclass(frozen=True)
class Example:
    """One question with its documents."""

    id: str
    """A name that is unique within a run."""
    group: str
    """The question it asks: examples of one group are not independent, and count as one question."""
    documents: tuple[Document, ...]
    question: str
    answers: tuple[str, ...]
    """The right answers, of which any will do; empty where unknown: the example then counts for retrieval alone."""
    gold: tuple[int, ...] = ()
    """The documents that hold the answer, by their indices; empty if unknown."""
    gold_chars: tuple[int, int] | None = None
    """The characters of the gold document in which the answer stands; None: anywhere in it."""
    x: int | None = None
    """The value of what the task sweeps: a position, a number of documents, a length in tokens."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Other facts worth writing down about it; JSON values."""
    unanswerable: bool = False
    """True if the documents do not hold the answer: saying so is right."""
    shelf: str | None = None
    """The name of the documents, where several questions are asked of them in turn: they are then read once,
    as `ask` does. None: every question reads as if for the first time."""

    @property
    def is_asked(self) -> bool:
        """Tells whether the model is asked; else the example's facts alone count."""
        return bool(self.answers) or self.unanswerable

    @property
    def gold_documents(self) -> tuple[Document, ...]:
        """Returns the documents that hold the answer, or the place in them that does."""
        place = slice(*(self.gold_chars or (None,)))
        return tuple(replace(one, text=one.text[place], marks=()) for one in map(self.documents.__getitem__, self.gold))


@dataclass(frozen=True)
class Passage:
    """A titled text; ``gold`` if it holds (a part of) the answer."""

    title: str
    text: str
    gold: bool = False

    def __post_init__(self) -> None:
        text_of(self.title), text_of(self.text)


def as_documents(passages: Iterable[Passage]) -> tuple[tuple[Document, ...], tuple[int, ...]]:
    """Returns passages as documents with names of their own, and the indices of those that are gold.

    The name is the title too, so that a document shown alone has the heading that it has among others.
    """
    passages = tuple(passages)
    found = with_unique_names(Document(passage.title.strip() or "Untitled", passage.text) for passage in passages)
    documents = tuple(replace(document, title=document.name) for document in found)
    return documents, tuple(index for index, passage in enumerate(passages) if passage.gold)
