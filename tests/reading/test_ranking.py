"""The scores of segments, and what they mean beside each other."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.island import QUESTION, SMALL, asked, finished, read, reply, text
from wim_edge import Document, Runtime, events
from wim_edge.reading.ranking import Ranking
from wim_edge.testing import FakeModel

scores = st.dictionaries(st.integers(0, 9), st.floats(-50, 50), min_size=1)


def test_all_that_is_read_leaves_nothing_better() -> None:
    assert finished(asked(SMALL.with_changes(within="all"), text(8, 5))).unread_probability == 0.0
    assert finished(asked(SMALL.with_changes(pattern="wim"), text(8, 5))).unread_probability == 0.0


def test_where_an_adapter_tells_segments_apart_the_first_alone_are_scored() -> None:
    model = FakeModel(reply)
    model.has_adapter = True
    found = asked(SMALL.with_changes(within="all"), text(12, 3), model=model)
    (ranked,) = (event for event in found if isinstance(event, events.ReadingRanked))
    scored = [one.segment for one in ranked.ranking if one.score is not None]
    assert len(ranked.ranking) == len(read(found)) > len(scored) > 0
    assert {one.segment for one in ranked.ranking if one.chosen} <= set(scored)


@given(scores)
def test_shares_of_the_whole_document(found: dict[int, float]) -> None:
    ranking = Ranking(10, scores=found)
    shares = [ranking.relevance(index) for index in range(10)]
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) <= 1 + 1e-9
    order = ranking.order()
    assert sorted(order) == sorted(found)
    assert all(shares[a] >= shares[b] for a, b in pairwise(order))


def test_shares_are_bayes_rule_with_unread_segments_scoring_nothing() -> None:
    ranking = Ranking(4, scores={0: math.log(6), 2: 0.0})
    assert ranking.relevance(0) == pytest.approx(6 / 9)
    assert ranking.relevance(2) == pytest.approx(1 / 9)
    assert ranking.relevance(3) == 0  # unread: not yet relevant


def test_the_gap_to_the_best_decides() -> None:
    ranking = Ranking(5, scores={0: 9.0, 1: 8.0, 2: 3.0, 3: -1.0})
    assert ranking.chosen(4) == [0, 1]
    assert ranking.chosen(1) == [0]
    assert ranking.chosen(4, threshold=0.0) == [0, 1, 2]  # 3 makes the question less likely than no text
    assert ranking.chosen(4, threshold=1.0) == [0]
    assert Ranking(5, scores={0: -2.0}).chosen(4) == []
    assert Ranking(5).chosen(4) == []


def test_log_odds_speak_for_their_segment_alone() -> None:
    ranking = Ranking(3, independent=True, scores={0: 0.1, 1: -0.1, 2: 5.0})
    assert ranking.chosen(3) == [2, 0]
    assert ranking.chosen(3, threshold=0.9) == [2]
    assert ranking.relevance(0) == pytest.approx(1 / (1 + math.exp(-0.1)))


def test_what_is_set_aside_answers_nothing_and_the_reading_goes_on() -> None:
    document = Document("d", text(12, 5))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(document, QUESTION))
        first = finished(found)
        assert first.read_segments < first.segments
        assert first.unread_probability is not None
        assert first.unread_probability < 0.5
        again = list(runtime.stream(document, QUESTION, verdicts=dict.fromkeys(read(found), False)))
    started = next(event for event in again if isinstance(event, events.ReadingStarted))
    assert started.read_segments == first.read_segments  # what was told of them stands
    assert read(again)
    assert not set(read(again)) & set(read(found))
    assert finished(again).read_segments > first.read_segments
