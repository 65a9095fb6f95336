"""A runtime that answers by a script, and small rows in the formats of the data sets."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from wim_edge import Document, Settings
from wim_edge.evaluation import records
from wim_edge.evaluation.conditions import ConditionAsker, parse_conditions
from wim_edge.evaluation.example import Example, Passage, as_documents
from wim_edge.evaluation.records import Record, read_records
from wim_edge.evaluation.runner import evaluate
from wim_edge.evaluation.tasks import TASKS, TaskOptions, task_named
from wim_edge.reading.events import (
    AnswerFinished,
    Event,
    FinishReason,
    MarginJudged,
    RankedSegment,
    ReadingRanked,
    ReadingStarted,
    Usage,
)
from wim_edge.testing import FakeModel

Reply = Callable[[Sequence[Document], str, Settings], str]


_MODEL = FakeModel()


class StubRuntime:
    """What `evaluate` uses of `wim_edge.Runtime`. ``ranked`` gives (document, chars), the best first;
    ``quotes`` the (text, chars) of verbatim margins in the first document."""

    def __init__(self, reply: Reply, settings: Settings | None = None, *,
                 ranked: Sequence[tuple[int, tuple[int, int]]] = (),
                 quotes: Sequence[tuple[str, tuple[int, int] | None]] = (),
                 load: float = 0.0, finish_reason: FinishReason = "stop") -> None:  # fmt: skip
        self.reply, self.settings = reply, settings or Settings()
        self.script: dict[str, Any] = {"ranked": ranked, "quotes": quotes, "load": load, "finish_reason": finish_reason}
        self.asked: list[tuple[str | None, tuple[str, ...], str]] = []

    def open(self) -> FakeModel:
        return _MODEL

    def with_changes(self, **changes: object) -> StubRuntime:
        other = StubRuntime(self.reply, self.settings.with_changes(**changes), **self.script)
        other.asked = self.asked
        return other

    def stream(self, documents: Sequence[Document], question: str) -> Iterator[Event]:
        return self._events(documents, question, self.settings.pattern or "wim")

    def _events(self, documents: Sequence[Document], question: str, pattern: str) -> Iterator[Event]:
        self.asked.append((self.settings.pattern, tuple(document.name for document in documents), question))
        scores = pattern != "llm"
        relevance = (self.settings.relevance or "cascade") if scores else None
        yield ReadingStarted("fake", pattern, (), len(documents), 9, 512, 1, relevance)
        for text, quote in self.script["quotes"] if scores else ():
            yield MarginJudged(0, documents[0].name, None, None, (0, 9), text, quote, 1.0, True)
        if scores and self.script["ranked"]:
            ranking = enumerate(self.script["ranked"])
            ranked = (RankedSegment(n, documents[d].name, chars, 0.5, True) for n, (d, chars) in ranking)
            yield ReadingRanked(tuple(ranked))
        text = self.reply(documents, question, self.settings)
        usage = Usage(100, 0, 10, {"load": self.script["load"], "total": 1.0}, 1 << 20)
        yield AnswerFinished(text, self.script["finish_reason"], pattern, "fake", (), usage)

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def words(text: str) -> int:
    """Count tokens as words."""
    return len(text.split())


def write(path: Path, data: Any, *, lines: bool = False) -> Path:
    """Rows as JSON or JSON lines; gzip-compressed if the name says so."""
    text = "".join(json.dumps(row) + "\n" for row in data) if lines else json.dumps(data)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def multidoc_row(number: int, distractors: int = 9) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"what colour is house {number}",
        "answers": [f"colour{number}"],
        "gold": {"title": f"House {number}", "text": f"It is colour{number} all over."},
        "distractors": [{"title": "Street", "text": f"Nothing {number} {n}."} for n in range(distractors)],
    }


def build(task: str, **options: Any) -> list[Example]:
    return TASKS[task].examples(TaskOptions(**options), words)


DOCUMENTS = (Document("a", "nothing"), Document("b", "it is blue"))


def example(number: int = 0, x: int = 0, **more: Any) -> Example:
    plain = Example(f"q{number}@{x}", f"q{number}", DOCUMENTS, f"Which {number}?", ("blue",), (1,), x=x)
    return replace(plain, **more)


EXAMPLES = [example(number, x) for number in range(2) for x in (0, 1)]


def blue(documents: Sequence[Document], _question: str, _settings: Settings) -> str:
    return "it is blue" if any("blue" in document.text for document in documents) else "unknown"


def run(out: Path, patterns: str = "llm", examples: Sequence[Example] = EXAMPLES, runtime: StubRuntime | None = None,
        **options: Any) -> list[Record]:  # fmt: skip
    evaluate(runtime or StubRuntime(blue), task_named("multidoc"), examples, parse_conditions(patterns), out,  # type: ignore[arg-type]
             TaskOptions(**options))  # fmt: skip
    return read_records(out)


HOUSES = tuple(Passage(f"House {n}", f"It is colour{n} all over.", gold=n == 1) for n in range(3))
_SHOWN, _GOLD = as_documents(HOUSES)
HOUSE = Example("q", "q", _SHOWN, "what colour is house 1", ("colour1",), _GOLD)
"""An example of three houses, of which one answers."""


def ask(asker: ConditionAsker, label: str, example: Example = HOUSE) -> tuple[records.Reply, str]:
    """Returns the reply, and the last prompt."""
    (condition,) = parse_conditions(label)
    reply = asker.ask(condition, example)
    return reply, asker.runtime.open().prompts[-1]  # type: ignore[attr-defined]
