"""The page of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.evaluation.made_up_run import RECORDS, summary
from wim_edge.evaluation.report import rows, write_report


def test_the_report_is_one_page_without_links(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = write_report(tmp_path, summary(), RECORDS)
    page = path.read_text(encoding="utf-8")
    assert path.name == "report.html"
    assert {p.name for p in tmp_path.glob("*.png")} == {"by_position.png", "cost.png"}
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in ("by_position.png", "cost.png"))
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r"https?://|<script|<link|src=\"(?!data:)|url\(", page)
    assert "wim-edge eval &lt;x&gt;" in page
    assert "an &lt;answer&gt;" in page
    assert "CapacityError: 9 of 5" in page
    assert "Which a?" in page
    assert "color-scheme: light dark" in page


def test_the_table() -> None:
    head, llm, wim, oracle = rows(summary())
    assert head == ["pattern", "n", "accuracy", "gold first", "in first two", "95% of accuracy", "position 0",
                    "position 4", "s/example", "x llm", "errors"]  # fmt: skip
    assert llm[:3] == ["llm", "2", "75.0%"]
    assert (llm[3:5], llm[6:8], llm[-1]) == (["-", "-"], ["100.0%", "50.0%"], "1")
    assert wim[0] == "wim (wim:cascade)"
    assert oracle[6:8] == ["-", "-"]
