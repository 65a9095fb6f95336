"""The plots of a run: what is drawn by task, and without matplotlib."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.made_up_run import RECORDS, record, summary
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.report import write_report


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
