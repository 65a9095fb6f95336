"""Figures of a run against values worked out by hand, and the page that shows them."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.report import write_report
from wim_edge.evaluation.store import Record
from wim_edge.evaluation.summary import bootstrap, summarize
from wim_edge.evaluation.table import rows
from wim_edge.evaluation.tasks import TASKS


def record(group: str, x: int | None, pattern: str, accuracy: float | None, **more: Any) -> Record:
    scores = {} if accuracy is None else {"accuracy": accuracy}
    given = {"seconds": 2.0, "prefilled_tokens": 100, "decoded_tokens": 10, "resolved_pattern": pattern,
             "answer": "an <answer>", **more, "scores": scores | more.get("scores", {})}  # fmt: skip
    return Record(id=f"{group}@{x or 0}", group=group, pattern=pattern, x=x, question=f"Which {group}?",
                  answers=("right",), **given)  # fmt: skip


RECORDS = [
    record("a", 0, "llm", 1.0), record("a", 4, "llm", 0.0), record("b", 0, "llm", 1.0, seconds=4.0),
    record("b", 4, "llm", 1.0, seconds=None, prefilled_tokens=None, error="CapacityError: 9 of 5"),
    record("a", 0, "wim", 0.0, seconds=6.0, gold_rank=1, margins_located=(2, 2), resolved_pattern="wim:cascade"),
    record("a", 4, "wim", 1.0, seconds=6.0, gold_rank=2, margins_located=(1, 2), resolved_pattern="wim:cascade"),
    record("b", 0, "wim", 1.0, seconds=12.0, gold_rank=3), record("b", 4, "wim", 1.0, seconds=50.0, gold_rank=0),
    record("a", None, "oracle", 1.0, seconds=1.0), record("b", None, "oracle", 0.0, seconds=1.0),
]  # fmt: skip
PATTERNS = ["llm", "wim", "oracle"]


def summary(records: list[Record] = RECORDS, task: str = "multidoc", patterns: list[str] = PATTERNS) -> dict[str, Any]:
    return summarize(TASKS[task], "fake", "wim-edge eval <x>", records, patterns)


def test_figures() -> None:
    found = summary()
    assert (found["task"], found["model"], found["command"]) == ("multidoc", "fake", "wim-edge eval <x>")
    llm, wim, oracle = found["patterns"]
    assert (llm["pattern"], llm["resolved_pattern"], llm["n"], llm["accuracy"]) == ("llm", "llm", 4, 0.75)
    assert {x: (y["n"], y["accuracy"]) for x, y in llm["by_position"].items()} == {"0": (2, 1.0), "4": (2, 0.5)}
    assert llm["spread"] == 0.5
    assert llm["seconds_per_example"] == pytest.approx(8 / 3)
    assert (llm["prefilled_tokens"], llm["cost_vs_llm"]) == (100, 1)
    assert llm["errors"] == [{"id": "b@4", "error": "CapacityError: 9 of 5"}]
    assert (llm["gold_ranked_first"], llm["margins_located"]) == (None, None)
    assert wim["resolved_pattern"] == "wim:cascade"
    assert (wim["gold_ranked_first"], wim["gold_in_first_two"]) == (0.25, 0.5)
    assert wim["margins_located"] == [3, 4]
    assert wim["cost_vs_llm"] == pytest.approx((6 + 6 + 12) / (2 + 2 + 4))  # b@4, which llm failed, is left out
    assert "by_position" not in oracle
    assert (oracle["n"], oracle["accuracy"], oracle["spread"]) == (2, 0.5, None)
    assert oracle["cost_vs_llm"] == pytest.approx(2 / 6)


def test_a_pattern_without_records_has_no_figures() -> None:
    (found,) = summary([], patterns=["rag"])["patterns"]
    assert (found["n"], found["accuracy"], found["ci95"], found["errors"]) == (0, None, None, [])
    assert rows(summary([], patterns=["rag"]))[1][0] == "rag"


def test_recall_counts_queries_that_are_not_asked() -> None:
    records = [record("a", 5, "llm", 1.0, scores={"recall": 1.0}),
               record("b", 5, "llm", None, scores={"recall": 0.0}, seconds=None)]  # fmt: skip
    (found,) = summary(records, "reader", ["llm"])["patterns"]
    assert (found["n"], found["accuracy"], found["recall"]) == (1, 1.0, 0.5)
    assert found["by_documents"]["5"]["recall"] == 0.5


def test_f1_is_the_main_metric_of_cwe() -> None:
    records = [record("a", 4000, "llm", 1.0, scores={"f1": 0.2}), record("b", 4000, "llm", 1.0, scores={"f1": 0.6})]
    (found,) = summary(records, "cwe", ["llm"])["patterns"]
    assert (found["accuracy"], found["f1"], found["ci95"]) == (1.0, 0.4, [0.2, 0.6])
    assert found["by_length"]["4000"]["f1"] == 0.4


def test_bootstrap_of_coins() -> None:
    low, high = bootstrap([(str(n), float(n % 2)) for n in range(100)])  # type: ignore[misc]
    assert low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.02)  # the normal approximation
    assert high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.02)


def test_bootstrap_resamples_questions_whole() -> None:
    one_each = [(f"{n}", float(n % 2)) for n in range(40)]
    copied = [(group, score) for group, score in one_each for _ in range(5)]
    assert bootstrap(copied) == bootstrap(one_each)  # five positions that agree say no more than one
    apart = bootstrap([(f"{group}-{n}", score) for n, (group, score) in enumerate(copied)])
    assert apart is not None
    assert apart[1] - apart[0] < 0.6 * (bootstrap(copied)[1] - bootstrap(copied)[0])  # type: ignore[index]
    assert bootstrap([]) is None
    assert bootstrap([("a", 0.25), ("a", 0.75)]) == [0.5, 0.5]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 1)), min_size=1, max_size=30))
def test_bootstrap_bounds(scores: list[tuple[str, float]]) -> None:
    low, high = bootstrap(scores, 200)  # type: ignore[misc]
    assert -1e-6 <= low <= high <= 1 + 1e-6
    assert [low, high] == bootstrap(scores, 200)


def test_the_table() -> None:
    head, llm, wim, oracle = rows(summary())
    assert head == ["pattern", "n", "accuracy", "95% of accuracy", "position 0", "position 4", "gold first",
                    "in first two", "s/example", "x llm", "errors"]  # fmt: skip
    assert llm[:3] == ["llm", "4", "75.0%"]
    assert (llm[4:8], llm[-1]) == (["100.0%", "50.0%", "-", "-"], "1")
    assert wim[0] == "wim (wim:cascade)"
    assert oracle[4:6] == ["-", "-"]


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
    assert caught.value.hint == "pip install matplotlib"
