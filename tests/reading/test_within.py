"""How much is read: until a better passage is unlikely, some seconds, a share, or all."""

from __future__ import annotations

from pathlib import Path

from tests.reading.island import SMALL, asked, finished, read, reply, text
from wim_edge import events
from wim_edge.testing import FakeModel


def test_it_ends_where_a_better_segment_is_unlikely() -> None:
    found = asked(SMALL, text(40, 33))
    last, started = finished(found), found[0]
    assert isinstance(started, events.ReadingStarted)
    assert started.within == "auto"
    assert last.text.startswith("Ottilie Brandt")
    assert last.read_segments < 8 < last.segments
    assert 0 < last.unread_probability < 0.05
    told = [event.unread_probability for event in found if isinstance(event, events.SegmentScored)]
    assert told[-1] == last.unread_probability
    assert all(one is not None and one >= 0.05 for one in told[:-1])
    short = finished(asked(SMALL, text(1, 0)))
    assert (short.text[:14], short.read_segments, short.segments) == ("Ottilie Brandt", 3, 3)  # it is read whole


def test_what_fits_nowhere_is_looked_for_in_so_many_segments() -> None:
    last = finished(asked(SMALL, text(60, -1), "Which colour had the bicycle?"))
    assert last.read_segments == 16
    assert last.unread_probability > 0.05


def test_a_share_of_the_text_is_read() -> None:
    found = asked(SMALL.with_changes(within="20%"), text(40, 33))
    last, started = finished(found), found[0]
    assert isinstance(started, events.ReadingStarted)
    assert started.within == "20%"
    assert last.read_segments < last.segments / 3
    assert last.text.startswith("Ottilie Brandt")
    assert last.finish_reason == "stop"
    tokens = [event.tokens for event in found if isinstance(event, events.SegmentRead)]
    assert 0.15 * started.tokens < sum(tokens) <= 0.2 * started.tokens
    assert last.read_segments == len(tokens)


def test_so_many_seconds_are_read_and_one_segment_always() -> None:
    found = asked(SMALL.with_changes(within="0.000001s"), text(8, 5))
    assert finished(found).read_segments == 1
    assert finished(found).text.startswith("Ottilie Brandt")
    assert finished(asked(SMALL.with_changes(within="1h"), text(8, 5))).read_segments == finished(found).segments


def test_a_context_may_be_read_in_part_too() -> None:
    found = asked(SMALL.with_changes(pattern="wim", within="30%"), text(20, 2))
    last = finished(found)
    assert 0 < last.read_segments < last.segments
    assert read(found) == list(range(last.read_segments))


def test_what_a_part_kept_is_known_to_the_next_question(tmp_path: Path) -> None:
    kept = SMALL.with_changes(save=True, readings=tmp_path, within="20%")
    model, document = FakeModel(reply), text(40, 33)
    first = finished(asked(kept, document, model=model))
    again = finished(asked(kept, document, model=model))
    assert first.usage.reused_tokens == 0
    assert again.usage.reused_tokens > 0
    assert again.read_segments == first.read_segments
    whole = finished(asked(kept.with_changes(within="all"), document, model=model))
    assert whole.read_segments == whole.segments
    assert whole.usage.reused_tokens >= again.usage.reused_tokens
