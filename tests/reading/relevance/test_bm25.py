"""Words in common as a score."""

from __future__ import annotations

from tests.reading.relevance.lighthouse import QUESTION, library, reply
from wim_edge import Runtime, Settings
from wim_edge.testing import FakeModel


def test_bm25_reads_only_what_it_answers_from() -> None:
    settings = Settings(pattern="rag", relevance="bm25", segment_tokens=64, max_passages=1)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(library(8, 2), QUESTION))
    usage, started = found[-1].usage, found[0]  # type: ignore[attr-defined]
    assert 0 < usage.prefilled_tokens < started.tokens / 4  # type: ignore[attr-defined]
