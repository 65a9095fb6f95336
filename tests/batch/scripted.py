"""A batch on the scripted engine."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from wim_edge import Runtime, Settings
from wim_edge.batch.rows import DocumentGroup, Result
from wim_edge.batch.run import answers, fetch
from wim_edge.loaded_models import Identity
from wim_edge.testing import FakeModel

SMALL = Settings(segment_tokens=64, answer_tokens=8, margin_tokens=16, max_passages=2, pattern="wim")
MODEL = Identity("fake", "1")


class Fake:
    """Executes on a scripted model; counts what was asked, and fails where it is told to."""

    def __init__(self, stop_after: int | None = None, fails: dict[str, Exception] | None = None) -> None:
        self.asked: list[str] = []
        self.stop_after, self.fails = stop_after, fails or {}
        self.runtime = Runtime(SMALL, model=FakeModel(lambda prompt: "a stone"))

    def stream(self, documents: Sequence[object], question: str) -> Iterator[object]:
        if self.stop_after is not None and len(self.asked) == self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(question)
        if question in self.fails:
            raise self.fails[question]
        return self.runtime.stream(documents, question)  # type: ignore[arg-type]

    def __call__(self, groups: Sequence[DocumentGroup]) -> Generator[Result, None, None]:
        with self.runtime:
            for group in groups:
                yield from answers(self, fetch(group, SMALL), SMALL, "here")
