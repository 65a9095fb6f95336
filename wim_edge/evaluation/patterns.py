"""What a run compares: the runtime's patterns, and the two controls of "Lost in the Middle", section 3.3.

    NAME             a pattern of `wim_edge.settings.PATTERNS`, with the model's default relevance
    NAME:RELEVANCE   the same with another relevance, for example rag:bm25
    default          what `wim-edge ask` does with this model
    oracle           the gold documents alone, pattern llm: the upper bound
    closed-book      no documents, pattern llm: what the model knows by itself
"""

from __future__ import annotations

from dataclasses import dataclass

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Example
from wim_edge.settings import PATTERNS, RELEVANCES

CONTROLS = ("oracle", "closed-book")
NAMES = (*PATTERNS, "default", *CONTROLS)
_HINT = f"A pattern is {', '.join(NAMES)}; all but llm and the last two may be followed by :RELEVANCE."


@dataclass(frozen=True)
class Pattern:
    """One column of a comparison. ``label`` is how it was asked for."""

    label: str
    name: str
    relevance: str | None = None

    @property
    def control(self) -> bool:
        """Whether it is independent of what the task sweeps, and so asked once a question."""
        return self.name in CONTROLS

    @property
    def settings(self) -> dict[str, str]:
        """The changes of `Settings` that it stands for."""
        pattern = {} if self.name == "default" else {"pattern": "llm" if self.control else self.name}
        return pattern | ({"relevance": self.relevance} if self.relevance else {})

    def documents(self, example: Example) -> tuple[Document, ...]:
        """What it shows of an example's documents."""
        if self.name == "closed-book":
            return ()
        if self.name == "oracle":
            gold = tuple(example.documents[index] for index in example.gold)
            return tuple(Document(d.name, d.text[slice(*(example.gold_chars or (None,)))]) for d in gold)
        return example.documents


def parse_patterns(text: str) -> tuple[Pattern, ...]:
    """The patterns of a comma-separated list. Raises InvalidRequestError on an unknown one."""
    labels = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    if not labels:
        raise InvalidRequestError("no pattern is named", _HINT)
    return tuple(map(_parse, labels))


def _parse(label: str) -> Pattern:
    name, colon, relevance = label.partition(":")
    if name not in NAMES:
        raise InvalidRequestError(f"{name} is no pattern", _HINT)
    if colon and (name in ("llm", *CONTROLS) or relevance not in RELEVANCES):
        raise InvalidRequestError(f"{label} is no pattern", f"{_HINT} A relevance is {', '.join(RELEVANCES)}.")
    return Pattern(label, name, relevance or None)
