"""What tells an absent answer is learned from questions with and without one."""

from __future__ import annotations

import random

from wim_edge.evaluation.fit_support import fit_support
from wim_edge.evaluation.records import Record
from wim_edge.support import Confirmation, Evidence, SupportWeights


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
    fitted = fit_support(records(60, 2.0))
    assert fitted["support_auroc"] > 0.95
    weights = SupportWeights.from_mapping(fitted["support"])
    assert weights.answers > 0.3
    assert weights.run == 0  # it never varied
    assert weights.support(Evidence(20, 3, -1, 0.2)) > 0.8 > 0.2 > weights.support(Evidence(20, -3, -1, 0.2))


def test_a_writer_that_knows_no_better_than_chance_gets_no_weight() -> None:
    fitted = fit_support(records(60, 2.0))
    assert fitted["confirmation_auroc"] > 0.95
    weights = Confirmation.from_mapping(fitted["confirmation"])
    assert weights.judge > 5 * abs(weights.writer)


def test_what_tells_nothing_gets_none() -> None:
    fitted = fit_support(records(60, 0.0))
    assert 0.3 < fitted["support_auroc"] < 0.7


def test_too_few_questions_fit_nothing() -> None:
    assert fit_support(records(10, 2.0)) == {}
    assert fit_support([]) == {}
