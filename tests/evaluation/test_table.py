"""The table of a run's figures."""

from __future__ import annotations

from tests.evaluation.made_up_run import summary
from wim_edge.evaluation.table import rows


def test_the_table() -> None:
    head, llm, wim, oracle = rows(summary())
    assert head == ["pattern", "n", "accuracy", "gold first", "in first two", "95% of accuracy", "position 0",
                    "position 4", "s/example", "x llm", "errors"]  # fmt: skip
    assert llm[:3] == ["llm", "2", "75.0%"]
    assert (llm[3:5], llm[6:8], llm[-1]) == (["-", "-"], ["100.0%", "50.0%"], "1")
    assert wim[0] == "wim (wim:cascade)"
    assert oracle[6:8] == ["-", "-"]
