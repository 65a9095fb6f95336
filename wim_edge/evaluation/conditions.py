"""The conditions that a run compares: the runtime's patterns, controls, and baselines.

    NAME             a pattern of `wim_edge.settings.PATTERNS`, with the model's default relevance
    NAME:RELEVANCE   the same with another relevance, for example rag:bm25
    default          what `wim-edge ask` does with this model
    margins-alone    the margins of default as the only text, without their passages
    llm:source       the whole context in the prompt of the task's own publication ("Lost in the Middle", figure 2)
    rag:embed        chunks of 1,000 characters, an embedding model, the best three, the usual prompt
    oracle           the gold documents alone, pattern llm: the upper bound ("Lost in the Middle", section 2.3)
    closed-book      no documents, pattern llm: the model's own knowledge (the same)
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
    """One column of a comparison. ``label`` is the name that was given."""

    label: str
    name: str
    relevance: str | None = None

    @property
    def is_control(self) -> bool:
        """Returns whether it does not depend on what the task sweeps. Then it is asked once per question."""
        return self.name in CONTROLS

    @property
    def changes(self) -> dict[str, str]:
        """Returns its changes of `Settings`."""
        pattern = "llm" if self.is_control or self.name == SOURCE else self.name
        named = {"pattern": pattern} if pattern in PATTERNS else {}
        return named | ({"relevance": self.relevance} if self.relevance else {})

    def ignores_order(self, settings: Settings) -> bool:
        """Returns whether the order of documents cannot change the answer, because each is read alone."""
        if self.name == EMBED:
            return True
        return self.is_control or not resolve(settings.with_changes(**self.changes)).pattern.deep

    def documents(self, example: Example) -> tuple[Document, ...]:
        """Returns the documents of an example that it shows."""
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
