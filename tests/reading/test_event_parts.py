"""What events are made of comes out of JSON as it went in."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wim_edge.reading import events

PLACE = events.RecalledPassage("d", "t", "p", None, "s", (0, 3), "abc", 1.5, {"bm25": 5.0}, True, 2)
USAGE = events.Usage(1, 0, 1, {"total": 1.0}, 1)
QUOTE = events.Quote("blue", "d", 3, None, (4, 8))
ANSWER = events.AnswerFinished(
    "Perhaps: blue", "repeated", "wim", "m", (), USAGE, status="unsure", short="blue", span=(4, 8), quotes=(QUOTE,),
    support=0.4, unsupported=("12",),
)  # fmt: skip
TOKEN = events.TokenLogprob("é", (195, 169), -0.5, (("é", (195, 169), -0.5), ("e", (101,), -1.5)))


@pytest.mark.parametrize("event", [
    events.TitlesRecalled((("a", 1.0), ("b", -2.0))),
    events.PassagesRecalled((PLACE,), 3, 4, 0.5),
    events.SegmentScored(1, 0.5, None, 0.25),
    events.ReadingRanked((events.RankedSegment(0, "d", (0, 3), 1.0, True, -3.5),)),
    events.QuestionSettled("and 2022?", "Costs in 2022?", "it goes on"),
    ANSWER,
    replace(ANSWER, sources=(events.Source(0, "d", None, "s", (0, 9), 1.0, "", None),), evidence={"run": -1.0}),
    events.CompletionDelta("é", (TOKEN,)),
])  # fmt: skip
def test_an_event_comes_back_as_it_was(event: events.Event) -> None:
    assert events.from_dict(json.loads(event.to_json())) == event
