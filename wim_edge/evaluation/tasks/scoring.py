"""Scores that several tasks share."""

from __future__ import annotations

from wim_edge.evaluation.example import Example
from wim_edge.evaluation.metrics import best_subspan_em, contains, f1, first_line
from wim_edge.evaluation.reply import Reply


def score_answer(example: Example, reply: Reply | None) -> dict[str, float]:
    """Scores a short answer: ``accuracy`` as in "Lost in the Middle" (best_subspan_em of the first line), ``contains``,
    our own match of the whole text, and ``f1`` of the short answer, else of the first line. A failed one (None) is
    wrong."""
    if reply is None:
        return dict.fromkeys(("accuracy", "contains", "f1"), 0.0)
    text = reply.text
    return {
        "accuracy": best_subspan_em(text, example.answers),
        "contains": contains(text, example.answers),
        "f1": f1(reply.short or first_line(text), example.answers),
    }
