"""What is known of a text, from the cache or from the disk, is not evaluated again and changes no answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest

from tests.library.wall import MODEL, PATTERNS, SMALL, TEXT, ask, files, scores, usage
from tests.reading import island
from wim_edge import Document, Runtime
from wim_edge.engine.protocols import Interrupted, Logits
from wim_edge.errors import EngineError
from wim_edge.reading import events
from wim_edge.testing import FakeSequence


def margins(found: list[events.Event]) -> list[tuple[int, str]]:
    return [(e.segment, e.text) for e in found if isinstance(e, events.MarginJudged)]


def tokens(found: list[events.Event]) -> int:
    return next(event.tokens for event in found if isinstance(event, events.ReadingStarted))


def same(found: list[events.Event], other: list[events.Event]) -> None:
    assert scores(found) == scores(other)
    one, two = island.finished(found), island.finished(other)
    assert (one.text, one.sources) == (two.text, two.sources)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_second_question_evaluates_no_token_of_the_text(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    append, evaluated = FakeSequence.append, defaultdict[FakeSequence, str](str)

    def noting(self: FakeSequence, tokens: Sequence[int], rows: int = 1) -> Logits:
        text = MODEL.text(tokens)
        if len(tokens) > 1 and "The text says" not in text:  # neither what a beam decodes nor a margin in the prompt
            evaluated[self] += text
        return append(self, tokens, rows)

    monkeypatch.setattr(FakeSequence, "append", noting)

    def segments(found: list[events.Event]) -> dict[int, int]:
        """Those that were evaluated since the last call, and their tokens."""
        texts = list(evaluated.values())
        evaluated.clear()
        read = [event for event in found if isinstance(event, events.SegmentRead)]
        return {one.segment: one.tokens for one in read if any(TEXT[slice(*one.chars)] in text for text in texts)}

    first = ask(TEXT, pattern=pattern)
    total = tokens(first)
    assert usage(first).reused_tokens == 0
    assert sum(segments(first).values()) == total
    second = ask(TEXT, "Whose wall?", pattern=pattern)
    assert usage(second).reused_tokens == total
    again = segments(second)  # the passages that the answer is given from, where their states cannot be joined
    sources = second[-1].sources  # type: ignore[attr-defined]
    joined = 16 * (len(sources) - 1) if pattern in ("rag", "wim-shallow") else 0
    assert sum(again.values()) + joined == usage(second).prefilled_tokens
    assert set(again) <= ({one.segment for one in sources} if pattern == "wim-focus" else set())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_restored_reading_says_what_a_fresh_one_says(pattern: str) -> None:
    fresh = ask(TEXT, "Whose wall?", pattern=pattern, save=False)
    assert not files()
    ask(TEXT, pattern=pattern)
    restored = ask(TEXT, "Whose wall?", pattern=pattern)
    same(restored, fresh)
    chosen = [one.segment for e in fresh if isinstance(e, events.ReadingRanked) for one in e.ranking if one.chosen]
    assert sorted(margins(restored)) == [(n, text) for n, text in margins(fresh) if n in chosen]
    progress = [e.tokens for e in restored if isinstance(e, events.ReadingProgress)]
    assert progress == sorted(progress)
    assert progress[-1:] in ([], [tokens(restored)])
    read = [e for e in restored if isinstance(e, events.SegmentRead)]
    assert read == [e for e in fresh if isinstance(e, events.SegmentRead)]


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_a_text_that_grew_is_read_from_where_it_did(pattern: str) -> None:
    ask(TEXT, pattern=pattern)
    grown = TEXT + " And at the end there was a gate."
    found = usage(ask(grown, pattern=pattern))
    assert found.reused_tokens > 0.8 * found.prefilled_tokens
    assert usage(ask(grown, pattern=pattern)).reused_tokens >= found.reused_tokens


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_what_was_read_before_the_stop_is_kept(pattern: str) -> None:
    with Runtime(SMALL.with_changes(pattern=pattern), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Which?"):
            if isinstance(event, events.SegmentRead) and event.segment == 2:
                runtime.cancel()
    found = usage(ask(TEXT, pattern=pattern))
    assert 0 < found.reused_tokens <= 3 * 128


def test_an_abandoned_stream_keeps_what_was_read() -> None:
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        stream = runtime.stream(Document("wall.txt", TEXT), "Which?")
        next(e for e in stream if isinstance(e, events.SegmentRead) and e.segment == 1)
        stream.close()  # type: ignore[attr-defined]
    assert usage(ask(TEXT, pattern="wim")).reused_tokens > 0


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("margins_are", ["verbatim", "free"])
def test_a_partly_known_text_says_what_a_fresh_one_says(pattern: str, margins_are: str) -> None:
    changes = {"pattern": pattern, "relevance": "likelihood", "margins": margins_are, "max_passages": 3}
    fresh = ask(TEXT, "Whose wall?", save=False, **changes)
    ask(TEXT[: len(TEXT) // 2], **changes)
    partly = ask(TEXT, "Whose wall?", **changes)
    assert usage(partly).reused_tokens
    same(partly, fresh)
    known = usage(ask(TEXT, "Whose wall?", **changes))
    assert known.reused_tokens == tokens(partly)


@pytest.mark.parametrize("pattern", ["wim", "wim-focus"])
def test_stopped_between_two_ends_of_a_known_text(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other segments than those kept: memories without history evaluate between them, and may be stopped there."""
    ask(TEXT, pattern=pattern)
    fork, calls = FakeSequence.fork, 0
    with Runtime(SMALL.with_changes(pattern=pattern, segment_tokens=100), model=MODEL) as runtime:

        def interrupted(self: FakeSequence, at: int | None = None) -> FakeSequence:
            nonlocal calls
            calls += 1
            if calls == 6:
                runtime.answer_now()
                raise Interrupted
            return fork(self, at)

        monkeypatch.setattr(FakeSequence, "fork", interrupted)
        found = list(runtime.stream(Document("wall.txt", TEXT), "Whose wall?"))
    last = island.finished(found)
    assert (last.finish_reason, bool(last.text)) == ("early_exit", True)


def test_what_was_held_makes_room_for_the_answer() -> None:
    ask(TEXT, pattern="wim")
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Whose wall?"):
            if isinstance(event, events.SegmentScored) and event.segment == 3:
                runtime.answer_now()
            if isinstance(event, events.AnswerDelta):
                (context,) = [one for one in MODEL.contexts if not one.closed]
                assert max(map(len, context.live.values())) < 128 * 8


def test_a_deep_reading_is_kept_while_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.reading.prompt_cache._SAVE_EVERY", 0.0)
    monkeypatch.setattr("wim_edge.reading.prompt_cache._SAVE_SHARE", 0.0)
    with Runtime(SMALL.with_changes(pattern="llm"), model=MODEL) as runtime:
        stream = runtime.stream(Document("wall.txt", TEXT), "Which?")
        next(e for e in stream if isinstance(e, events.SegmentRead) and e.segment == 3)
        assert len(files()) == 3
        list(stream)
    assert len(files()) == 1  # the last state holds the others
    assert usage(ask(TEXT, pattern="llm")).prefilled_tokens == 0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_beginning_of_a_known_text_alone_fits_its_own_context(pattern: str) -> None:
    ask(TEXT, pattern=pattern)
    begins = ask(TEXT[:700], pattern=pattern)
    assert begins[-1].text  # type: ignore[attr-defined]
    assert not [e for e in begins if isinstance(e, events.Warning) and "saved" in e.text]


def test_a_state_that_cannot_be_restored_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(TEXT, "Whose wall?", pattern="wim")

    def gone(self: FakeSequence, snapshot: object) -> None:
        raise EngineError("gone")

    monkeypatch.setattr(FakeSequence, "restore", gone)
    again = ask(TEXT, "Whose wall?", pattern="wim")
    same(again, first)
    assert usage(again).prefilled_tokens  # what is read again is told
    assert any("cannot be used" in e.text for e in again if isinstance(e, events.Warning))


def test_answer_now_while_a_known_text_is_scored_draws_on_what_was() -> None:
    ask(TEXT, pattern="wim")
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        found = []
        for event in runtime.stream(Document("wall.txt", TEXT), "Which stone?"):
            found.append(event)
            if isinstance(event, events.ReadingProgress) and event.tokens:
                runtime.answer_now()
    last = island.finished(found)
    assert (last.finish_reason, bool(last.text)) == ("early_exit", True)
    assert not [e for e in found if isinstance(e, events.SegmentScored)]
    assert 0 < last.usage.reused_tokens < tokens(found)
