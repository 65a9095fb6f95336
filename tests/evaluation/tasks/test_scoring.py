"""Scores that several tasks share."""

from __future__ import annotations

import pytest

from tests.evaluation.stub import example
from wim_edge.evaluation.reply import Reply
from wim_edge.evaluation.tasks.scoring import score_answer


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        (None, (0.0, 0.0, 0.0)),
        (Reply(text="blue", pattern="llm"), (1.0, 1.0, 1.0)),
        (Reply(text="It is\nblue", pattern="llm"), (0.0, 1.0, 0.0)),  # accuracy and f1 are of the first line
        (Reply(text="Quite blue, as it says", short="blue", pattern="llm"), (1.0, 1.0, 1.0)),  # f1 is of the short one
        (Reply(text="red", pattern="llm"), (0.0, 0.0, 0.0)),
    ],
)
def test_what_a_short_answer_scores(reply: Reply | None, scores: tuple[float, float, float]) -> None:
    assert score_answer(example(), reply) == dict(zip(("accuracy", "contains", "f1"), scores, strict=True))
