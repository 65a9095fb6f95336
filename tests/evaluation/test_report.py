"""The page of a run and its plots, and what is said without matplotlib."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.made_up_run import RECORDS, record, summary
from wim_edge.errors import InvalidRequestError
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


def test_plots_by_task(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    reader = [record(g, k, "llm", s, scores={"recall": r}) for g, k, s, r in (("a", 1, 0.0, 0.0), ("a", 5, 1.0, 1.0))]
    write_report(tmp_path, summary(reader, "reader", ["llm"]), reader)
    lengths = [record(g, n, "llm", s, scores={"f1": s}) for g, n, s in (("a", 1000, 0.5), ("a", 4000, 0.1))]
    write_report(tmp_path, summary(lengths, "cwe", ["llm"]), lengths)
    assert {path.name for path in tmp_path.glob("*.png")} == {"by_documents.png", "by_length.png", "cost.png"}
    write_report(tmp_path / ".", summary([], "babilong", ["llm"]), [])


def test_a_report_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidRequestError, match="matplotlib") as caught:
        write_report(tmp_path, summary(), RECORDS)
    assert caught.value.hint == "pip install 'wim-edge[eval]'"
