"""An example of three houses, of which one answers."""

from __future__ import annotations

from wim_edge.evaluation.asking import ConditionAsker
from wim_edge.evaluation.conditions import parse_conditions
from wim_edge.evaluation.example import Example, Passage, as_documents
from wim_edge.evaluation.reply import Reply

HOUSES = tuple(Passage(f"House {n}", f"It is colour{n} all over.", gold=n == 1) for n in range(3))
DOCUMENTS, GOLD = as_documents(HOUSES)
EXAMPLE = Example("q", "q", DOCUMENTS, "what colour is house 1", ("colour1",), GOLD)


def ask(asker: ConditionAsker, label: str, example: Example = EXAMPLE) -> tuple[Reply, str]:
    """The reply, and the last prompt."""
    (condition,) = parse_conditions(label)
    reply = asker.ask(condition, example)
    return reply, asker.runtime.open().prompts[-1]  # type: ignore[attr-defined]
