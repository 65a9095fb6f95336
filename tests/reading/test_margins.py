"""Margins of known segments: scored first, then written one after the other."""

from __future__ import annotations

from collections.abc import Sequence as Seq

import pytest

from tests.library.wall import TEXT
from tests.reading import island
from wim_edge import Document, Runtime, Settings
from wim_edge.reading import events
from wim_edge.reading.control import Decision
from wim_edge.testing import FakeContext, FakeModel

SMALL = Settings(
    margins="free", relevance="likelihood", segment_tokens=128, answer_tokens=8, margin_tokens=24, max_passages=3
)


def says(prompt: str) -> str:
    """Yes to a verdict; else as many words as the last sentence's number has digits, twice over."""
    if "yes or no" in prompt.lower():
        return "YES"
    last = prompt.rpartition("Sentence ")[2].split()[0]
    return " ".join(["stone", "wall", last] * (1 + len(last)))


MODEL = FakeModel(says)


def ask(question: str, policy: object = None, **changes: object) -> list[events.Event]:
    with Runtime(SMALL.with_changes(**changes), model=MODEL) as runtime:
        return list(runtime.stream(Document("wall.txt", TEXT), question, on_margin=policy))  # type: ignore[arg-type]


def written(found: Seq[events.Event]) -> dict[int, str]:
    """The margins; what was shown of each while it was written is nothing else, and nothing between."""
    margins: dict[int, str] = {}
    shown: dict[int, str] = {}
    for event in found:
        if isinstance(event, events.MarginDelta):
            assert set(shown) <= {*margins, event.segment}
            shown[event.segment] = shown.get(event.segment, "") + event.text
        elif isinstance(event, events.MarginJudged):
            margins[event.segment] = event.text
    assert {n: " ".join(text.split()) for n, text in shown.items()} == {n: t.rstrip("…") for n, t in margins.items()}
    return margins


@pytest.mark.parametrize("pattern", ["wim", "wim-focus", "wim-shallow"])
def test_known_segments_get_theirs_when_all_are_scored(pattern: str) -> None:
    fresh = ask("Whose wall?", pattern=pattern, save=False, relevance_threshold=0.0)
    ask("Which stone?", pattern=pattern)
    again = ask("Whose wall?", pattern=pattern, relevance_threshold=0.0)
    ranked = next(e for e in again if isinstance(e, events.ReadingRanked))
    margins = written(again)
    assert list(margins) == [one.segment for one in ranked.ranking if one.chosen]
    assert margins == {n: text for n, text in written(fresh).items() if n in margins}
    assert again[-1].text == fresh[-1].text  # type: ignore[attr-defined]


def test_where_each_margin_is_judged_all_are_written() -> None:
    changes = {"pattern": "wim", "relevance": "verdict", "max_passages": 8}
    fresh = ask("Whose wall?", save=False, **changes)
    ask("Which stone?", **changes)
    again = ask("Whose wall?", **changes)
    assert written(again) == written(fresh)
    scored = [(e.segment, e.relevance) for e in again if isinstance(e, events.SegmentScored)]
    assert scored == [(e.segment, e.relevance) for e in fresh if isinstance(e, events.SegmentScored)]


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_the_policy_stops_between_them(pattern: str) -> None:
    ask("Which stone?", pattern=pattern)
    again = ask("Whose wall?", lambda margin: Decision.ANSWER, pattern=pattern, relevance_threshold=0.0)
    assert len(written(again)) == 1
    assert again[-1].text  # type: ignore[attr-defined]


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_who_asks_for_the_answer_before_any_was_written_gets_them(pattern: str) -> None:
    ask("Which stone?", pattern=pattern)
    found = []
    with Runtime(SMALL.with_changes(pattern=pattern, relevance_threshold=0.0), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Whose wall?"):
            found.append(event)
            if isinstance(event, events.SegmentScored) and event.segment == 3:
                runtime.answer_now()
    last = island.finished(found)
    assert (last.finish_reason, bool(last.text)) == ("early_exit", True)
    assert len(written(found)) == 3
    assert {source.segment for source in last.sources} == set(written(found))


def test_nothing_is_left_in_the_cache_when_they_are_interrupted() -> None:
    ask("Which stone?", pattern="wim")
    contexts: list[FakeContext] = []
    with Runtime(SMALL.with_changes(pattern="wim", relevance_threshold=0.0), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Whose wall?"):
            if isinstance(event, events.MarginDelta):
                runtime.cancel()
                contexts = [one for one in MODEL.contexts if not one.closed]
        assert isinstance(event, events.AnswerFinished)
        assert event.finish_reason == "cancelled"
        (context,) = contexts
        assert not context.live
