"""The conditions that a run compares: the runtime's patterns, controls, and what people would take instead.

    NAME             a pattern of `wim_edge.settings.PATTERNS`, with the model's default relevance
    NAME:RELEVANCE   the same with another relevance, for example rag:bm25
    default          what `wim-edge ask` does with this model
    margins-alone    default's margins as the only text: what they carry without their passages
    llm:source       the whole context in the prompt of the task's own publication ("Lost in the Middle", figure 2)
    rag:embed        chunks of 1,000 characters, an embedding model, the best three, the usual prompt
    oracle           the gold documents alone, pattern llm: the upper bound ("Lost in the Middle", section 2.3)
    closed-book      no documents, pattern llm: what the model knows by itself (the same)
"""

from __future__ import annotations

from dataclasses import dataclass

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Example
from wim_edge.reading.resolved_settings import resolve
from wim_edge.settings import PATTERNS, RELEVANCES, Settings

CONTROLS = ("oracle", "closed-book")
MARGINS_ALONE, SOURCE, EMBED = "margins-alone", "llm:source", "rag:embed"
NAMES = (*PATTERNS, "default", *CONTROLS, MARGINS_ALONE, SOURCE, EMBED)
_SCORELESS = ("llm", MARGINS_ALONE, *CONTROLS)
_HINT = f"A pattern is {', '.join(NAMES)}; {', '.join(PATTERNS[1:])} and default may be followed by :RELEVANCE."


@dataclass(frozen=True)
class Condition:
    """One column of a comparison. ``label`` is the name by which it was asked for."""

    label: str
    name: str
    relevance: str | None = None

    @property
    def is_control(self) -> bool:
        """Tells whether it is independent of what the task sweeps, and so asked once a question."""
        return self.name in CONTROLS

    @property
    def changes(self) -> dict[str, str]:
        """Returns the changes of `Settings` that it stands for."""
        pattern = "llm" if self.is_control or self.name == SOURCE else self.name
        named = {"pattern": pattern} if pattern in PATTERNS else {}
        return named | ({"relevance": self.relevance} if self.relevance else {})

    def ignores_order(self, settings: Settings) -> bool:
        """Tells whether documents in another order give the same answer, because each is read alone."""
        if self.name == EMBED:
            return True
        return self.is_control or not resolve(settings.with_changes(**self.changes)).pattern.deep

    def documents(self, example: Example) -> tuple[Document, ...]:
        """Returns the documents that it shows of an example."""
        if self.name == "closed-book":
            return ()
        if self.name == "oracle":
            return example.gold_documents
        return example.documents


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Returns the conditions of a comma-separated list. Raises InvalidRequestError on an unknown one."""
    labels = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    if not labels:
        raise InvalidRequestError("no pattern is named", _HINT)
    return tuple(map(_parse, labels))


def _parse(label: str) -> Condition:
    if label in (SOURCE, EMBED):
        return Condition(label, label)
    name, colon, relevance = label.partition(":")
    if name not in NAMES:
        raise InvalidRequestError(f"{name} is no pattern", _HINT)
    if colon and (name in _SCORELESS or relevance not in RELEVANCES):
        raise InvalidRequestError(f"{label} is no pattern", f"{_HINT} A relevance is {', '.join(RELEVANCES)}.")
    return Condition(label, name, relevance or None)
