"""Figures of a run against values worked out by hand, and the weights fitted to its answers."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.evaluation.made_up_run import record, summary
from wim_edge.evaluation.records import Record
from wim_edge.evaluation.report import rows
from wim_edge.evaluation.summary import fitted_weights
from wim_edge.support import Confirmation, Evidence, SupportWeights


def test_figures() -> None:
    found = summary()
    assert (found["task"], found["model"], found["command"]) == ("multidoc", "fake", "wim-edge eval <x>")
    llm, wim, oracle = found["patterns"]
    assert (llm["pattern"], llm["resolved_pattern"], llm["n"], llm["accuracy"]) == ("llm", "llm", 2, 0.75)
    assert llm["examples"] == 4  # two questions, at two positions each
    assert {x: (y["n"], y["accuracy"]) for x, y in llm["by_position"].items()} == {"0": (2, 1.0), "4": (2, 0.5)}
    assert llm["spread"] == 0.5
    assert llm["seconds_per_example"] == pytest.approx(8 / 3)
    assert (llm["read_tokens_per_example"], llm["cost_vs_llm"]) == (100, 1)
    assert llm["errors"] == [{"id": "b@4", "error": "CapacityError: 9 of 5"}]
    assert llm["gold_ranked_first"] is None
    assert wim["resolved_pattern"] == "wim:cascade"
    assert (wim["gold_ranked_first"], wim["gold_in_first_two"]) == (0.25, 0.5)
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
    assert (found["n"], found["accuracy"], found["recall"]) == (2, 1.0, 0.5)
    assert found["by_documents"]["5"]["recall"] == 0.5


def test_f1_is_the_main_metric_of_cwe() -> None:
    records = [record("a", 4000, "llm", 1.0, scores={"f1": 0.2}), record("b", 4000, "llm", 1.0, scores={"f1": 0.6})]
    (found,) = summary(records, "cwe", ["llm"])["patterns"]
    assert (found["accuracy"], found["f1"], found["ci95"]) == (1.0, 0.4, [0.2, 0.6])
    assert found["by_length"]["4000"]["f1"] == 0.4


def document_record(group: str, answer: bool, scores: dict[str, float], **more: Any) -> Record:
    return Record(id=group, group=group, pattern="default", x=None, question="Which?", scores=scores,
                  answers=("right",) if answer else (), unanswerable=not answer, **more)  # fmt: skip


def test_figures_of_whole_documents() -> None:
    right = {"f1": 0.5, "exact": 0.0, "contains": 1.0, "in_quotes": 1.0, "in_passages": 1.0}
    shown = {"not_found": 0.0, "guess": 0.0, "loops": 0.0, "echoes": 0.0}
    records = [
        document_record("a", True, right | shown, is_first=True, seconds=40.0, confidence=9.0),
        document_record("b", True, dict.fromkeys(right, 0.0) | {**shown, "not_found": 1.0}, is_first=False,
                        seconds=4.0, confidence=2.0),
        document_record("c", False, {**shown, "not_found": 1.0}, is_first=False, seconds=6.0, confidence=1.0),
        document_record("d", False, {**shown, "loops": 1.0}, is_first=False, seconds=8.0, confidence=3.0),
    ]  # fmt: skip
    (found,) = summary(records, "documents", ["default"])["patterns"]
    assert (found["n"], found["n_unanswerable"]) == (4, 2)
    assert (found["f1"], found["contains"], found["in_quotes"]) == (0.25, 0.5, 0.5)  # of those with an answer
    assert (found["not_found_rate"], found["false_not_found_rate"]) == (0.5, 0.5)
    assert (found["guess_rate"], found["sure"], found["right_when_sure"]) == (0.0, 0.5, 0.5)  # a is right, d not
    assert found["loops"] == 0.25
    assert found["auroc"] == 0.75  # 9 is above 1 and 3, 2 above 1
    assert (found["seconds_first"], found["seconds_later"], found["seconds_per_example"]) == (40, 6, 14.5)
    assert found["ci95"] == found["intervals"]["contains"]
    head, row = rows(summary(records, "documents", ["default"]))
    assert dict(zip(head, row, strict=True))["s first"] == "40.0"
    assert "s/example" not in head


def test_a_failed_question_has_found_nothing_where_others_could() -> None:
    failed = record("b", None, "rag", None, error="DocumentError: x", scores={"contains": 0.0})
    found = record("a", None, "rag", None, scores={"contains": 1.0, "in_passages": 1.0})
    whole = [record("a", None, "llm", None, scores={"contains": 1.0}), failed]
    (rag,) = summary([found, failed], "documents", ["rag"])["patterns"]
    assert (rag["contains"], rag["in_passages"]) == (0.5, 0.5)
    (llm,) = summary([replace(one, pattern="llm") for one in whole], "documents", ["llm"])["patterns"]
    assert llm.get("in_passages") is None


def records(n: int, tells: float) -> list[Record]:
    rng, found = random.Random("0"), []
    for number in range(n):
        absent = number % 2 == 0
        odds = rng.gauss(-tells if absent else tells, 1)
        evidence = {"likelihood": rng.gauss(20, 5), "answers": odds, "run": -1.0, "missing": 0.2}
        evidence |= {"judge": odds / 2, "writer": rng.gauss(0, 1)}
        found.append(
            Record(id=str(number), group=str(number), pattern="default", x=None, question="q",
                   answers=() if absent else ("a",), scores={"f1": 0.0}, unanswerable=absent, evidence=evidence)
        )  # fmt: skip
    return found


def test_evidence_that_tells_gets_its_weight() -> None:
    fitted = fitted_weights(records(60, 2.0))
    assert fitted["support_auroc"] > 0.95
    weights = SupportWeights.from_mapping(fitted["support"])
    assert weights.answers > 0.3
    assert weights.run == 0  # it never varied
    assert weights.support(Evidence(20, 3, -1, 0.2)) > 0.8 > 0.2 > weights.support(Evidence(20, -3, -1, 0.2))
    assert fitted["confirmation_auroc"] > 0.95
    confirmation = Confirmation.from_mapping(fitted["confirmation"])
    assert confirmation.judge > 5 * abs(confirmation.writer)  # the writer knows no better than chance


def test_the_more_agreement_tells_the_more_it_weighs() -> None:
    def fitted(n_right: int) -> float:
        some = [
            replace(
                one,
                evidence={**(one.evidence or {}), "agreed": n % 2, "share": 0.5},
                confidence=1.0,
                scores={"contains": float(n % 2 == (n < n_right))},
            )
            for n, one in enumerate(records(60, 2.0))
        ]
        return float(fitted_weights(some)["confirmation"]["agreed"])

    assert 0 == fitted(30) < 0.5 < fitted(45) < fitted(58)


def test_what_tells_nothing_gets_none_and_too_few_questions_fit_nothing() -> None:
    assert 0.3 < fitted_weights(records(60, 0.0))["support_auroc"] < 0.7
    assert fitted_weights(records(10, 2.0)) == {}
    assert fitted_weights([]) == {}
