"""A text of a wall, a scripted model that reads it and saves what it has read, and what is told of it."""

from __future__ import annotations

from pathlib import Path

from wim_edge import Document, Runtime, Settings
from wim_edge.reading import events
from wim_edge.settings import Paths
from wim_edge.testing import FakeModel

TEXT = " ".join(f"Sentence {n} tells of the {n}th stone in the long wall." for n in range(60))
SMALL = Settings(segment_tokens=128, answer_tokens=8, margin_tokens=16, max_passages=2)
MODEL = FakeModel(lambda prompt: "a stone")  # one, because it numbers words as it meets them
PATTERNS = ("llm", "rag", "wim", "wim-focus", "wim-shallow")


def folder() -> Path:
    return Paths.from_environment().cache / "readings"


def files() -> list[Path]:
    return sorted(folder().glob("*.reading"))


def ask(text: str, question: str = "Which stone?", **changes: object) -> list[events.Event]:
    """In a runtime of its own, as another process would."""
    with Runtime(SMALL.with_changes(**changes), model=MODEL) as runtime:
        return list(runtime.stream(Document("wall.txt", text), question))


def usage(found: list[events.Event]) -> events.Usage:
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    return last.usage


def scores(found: list[events.Event]) -> list[tuple[int, float, int | None]]:
    return [(e.segment, e.relevance, e.rank) for e in found if isinstance(e, events.SegmentScored)]
