"""What scores decide: which segments get margins, how many passages there are, and what is evaluated for it."""

from __future__ import annotations

import pytest

from tests.reading import island
from tests.reading.relevance.lighthouse import asked, library, reply
from wim_edge import Settings, events
from wim_edge.testing import FakeModel


def test_segments_that_do_not_matter_get_no_margin() -> None:
    found = asked(Settings(pattern="wim-shallow", segment_tokens=128, within="all"), library(8, 0))
    assert [event.segment for event in found if type(event) is events.MarginJudged] == [0]
    assert len([event for event in found if isinstance(event, events.SegmentScored)]) == 8


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        (Settings(pattern="llm"), 1),
        (Settings(pattern="rag", relevance="bm25"), 0),
        (Settings(pattern="rag", relevance="verdict"), 1),
        (Settings(pattern="rag", relevance="likelihood"), 1),
        (Settings(pattern="rag", relevance="likelihood", query_first=True), 1),
        (Settings(pattern="wim", relevance="likelihood-gain"), 1),
        (Settings(pattern="wim", relevance="likelihood"), 2),
        (Settings(pattern="wim", relevance="verdict"), 1),
    ],
)
def test_every_evaluated_token_of_the_documents_is_counted(settings: Settings, times: int) -> None:
    model = FakeModel(reply)
    documents = library(6, 4)
    found = asked(settings.with_changes(segment_tokens=64, answer_tokens=8, within="all"), documents, model)
    started, finished = found[0], island.finished(found)
    assert isinstance(started, events.ReadingStarted)
    texts = {document.name: document.text for document in documents}
    sources = finished.sources if settings.pattern == "rag" else ()
    again = [len(model.tokenize(texts[source.document][slice(*source.chars)])) for source in sources]
    needs_sequence = settings.pattern == "rag" and settings.relevance == "likelihood" and not settings.query_first
    kept = again[:1] if needs_sequence else []  # the best passage comes from its state
    assert finished.usage.prefilled_tokens == times * started.tokens + sum(again) - sum(kept)
    progress = [event for event in found if isinstance(event, events.ReadingProgress)]
    assert (progress[-1].tokens if progress else 0) == min(1, times) * started.tokens


def test_no_more_passages_than_asked_even_where_nothing_is_relevant() -> None:
    for most in (1, 2):
        chosen = Settings(pattern="rag", relevance="verdict", segment_tokens=64, max_passages=most)
        found = asked(chosen, library(6, 4), FakeModel(lambda prompt: "NO"))
        assert len(island.finished(found).sources) == most
