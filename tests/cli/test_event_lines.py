"""What the displays say of events, in a line."""

from __future__ import annotations

from wim_edge.cli.event_lines import format_place
from wim_edge.wim import events


def test_places() -> None:
    margin = events.MarginJudged(0, "a.md", None, "Costs", (3, 9), "", None, 0.0, False, line=14)
    assert format_place(margin, several=True) == "a.md, Costs, line 14"
    paged = events.MarginJudged(0, "a.pdf", 12, "Costs", (3, 9), "", None, 0.0, False)
    assert format_place(paged, several=False) == "page 12"
