"""Events out of JSON are what went in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime, events


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT)
    return path


def test_every_event_comes_out_of_json_as_it_went_in(story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        found = [*runtime.stream(story, "Which colour?"), *runtime.complete("Once", top_logprobs=2)]
    place = events.RecalledPassage("d", "t", "p", None, "s", (0, 3), "abc", 1.5, {"bm25": 5.0}, True, 2)
    found += [events.PassagesRecalled((place,), 3, 4, 0.5), events.TitlesRecalled((("a", 1.0), ("b", 2.0)))]
    quote = events.Quote("Anna signed.", "d", 3, None, (4, 16), "| name |")
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    found.append(
        events.AnswerFinished(
            "Perhaps: Anna", "repeated", "wim", "m", (), usage, status="unsure", short="Anna", span=(4, 8),
            quotes=(quote,), support=0.4, unsupported=("12",), evidence={"run": -1.0},
        )
    )  # fmt: skip
    found.append(events.QuestionSettled("and 2022?", "Costs in 2022?", "it goes on"))
    assert len({type(event) for event in found}) > 10
    for event in found:
        assert events.from_dict(json.loads(event.to_json())) == event
    with pytest.raises(ValueError, match="no event"):
        events.from_dict({"type": "nothing"})


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert events.from_dict({"type": "warning", "text": "x", "colour": 1}) == events.Warning("x")


@pytest.mark.parametrize(("change", "place"), [
    ({"type": "nothing"}, "no event is called 'nothing'"),
    ({"text": 5}, r"\$\.text"),
    ({"segments": True}, r"\$\.segments"),
    ({"span": [1]}, r"\$\.span"),
    ({"status": "perhaps"}, r"\$\.status"),
    ({"usage": {"seconds": {"total": "1"}}}, r"\$\.usage"),
])  # fmt: skip
def test_a_value_of_another_type_is_named_with_its_place(change: dict[str, object], place: str) -> None:
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    answer = events.AnswerFinished("blue", "stop", "wim", "m", (), usage)
    with pytest.raises(ValueError, match=place):
        events.from_dict({**answer.to_dict(), **change})
