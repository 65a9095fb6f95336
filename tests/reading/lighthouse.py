"""Documents of which one names the lighthouse keeper, a scripted model that knows it, and their ranking."""

from __future__ import annotations

from wim_edge import Document, Runtime, Settings, events
from wim_edge.testing import FakeModel

FILLER = "Rain fell on the harbour and the boats stayed in. "
GOLD = "The lighthouse keeper was called Ottilie Brandt. "
QUESTION = "What was the lighthouse keeper called?"


def library(n: int, gold: int) -> list[Document]:
    """Documents of which one answers the question."""
    return [Document(f"{i}.txt", (GOLD if i == gold else f"Page {i}. ") + FILLER * 3) for i in range(n)]


def asked(settings: Settings, documents: list[Document], model: FakeModel | None = None) -> list[events.Event]:
    with Runtime(settings, model=model or FakeModel(reply)) as runtime:
        return list(runtime.stream(documents, QUESTION))


def ranked(found: list[events.Event]) -> tuple[events.RankedSegment, ...]:
    (event,) = [event for event in found if isinstance(event, events.ReadingRanked)]
    return event.ranking


def reply(prompt: str) -> str:
    """A fair judge of what stands after "Note:", and a fixed answer."""
    if "YES or NO" in prompt:
        return "YES" if "Ottilie" in prompt.rsplit("Note:", 1)[1] else "NO"
    return "Ottilie Brandt" if "Ottilie" in prompt else "nobody knows"
