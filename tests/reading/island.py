"""A text of many parts with the treasure in one of them, and what is told of its reading."""

from __future__ import annotations

from collections.abc import Iterable

from wim_edge import Document, Runtime, Settings, events
from wim_edge.testing import FakeModel

FILLER = "Nothing of interest stands in part {0}, and {0} is here to be passed over by whoever reads it. " * 2
GOLD = "The treasure of the island was found by Ottilie Brandt in the old lighthouse. "
QUESTION = "Who found the treasure of the island?"
SMALL = Settings(pattern="wim-shallow", segment_tokens=64, margin_tokens=16, answer_tokens=16, save=False)


def text(n: int, gold: int, sentence: str = GOLD) -> str:
    return "".join((sentence if number == gold else "") + FILLER.format(number) + "\n\n" for number in range(n))


def reply(prompt: str) -> str:
    return "Ottilie Brandt" if "treasure" in prompt else "nothing"


def asked(settings: Settings, document: str | Document, question: str = QUESTION, model: FakeModel | None = None
          ) -> list[events.Event]:  # fmt: skip
    with Runtime(settings, model=model or FakeModel(reply)) as runtime:
        document = document if isinstance(document, Document) else Document("d", document)
        return list(runtime.stream(document, question))


def read(found: Iterable[events.Event]) -> list[int]:
    return [event.segment for event in found if isinstance(event, events.SegmentRead)]


def shown(document: Document, answer: events.AnswerFinished) -> str:
    return " ".join(document.text[slice(*source.chars)] for source in answer.sources)


def finished(found: list[events.Event]) -> events.AnswerFinished:
    assert isinstance(found[-1], events.AnswerFinished)
    return found[-1]
