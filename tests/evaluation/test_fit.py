"""Weights fitted to answers: what separates weighs, what does not weighs nothing."""

from __future__ import annotations

import random
from dataclasses import replace

from wim_edge.evaluation.fit import fitted_weights
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
    fitted = fitted_weights(records(60, 2.0))
    assert fitted["support_auroc"] > 0.95
    weights = SupportWeights.from_mapping(fitted["support"])
    assert weights.answers > 0.3
    assert weights.run == 0  # it never varied
    assert weights.support(Evidence(20, 3, -1, 0.2)) > 0.8 > 0.2 > weights.support(Evidence(20, -3, -1, 0.2))


def test_a_writer_that_knows_no_better_than_chance_gets_no_weight() -> None:
    fitted = fitted_weights(records(60, 2.0))
    assert fitted["confirmation_auroc"] > 0.95
    weights = Confirmation.from_mapping(fitted["confirmation"])
    assert weights.judge > 5 * abs(weights.writer)


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


def test_what_tells_nothing_gets_none() -> None:
    fitted = fitted_weights(records(60, 0.0))
    assert 0.3 < fitted["support_auroc"] < 0.7


def test_too_few_questions_fit_nothing() -> None:
    assert fitted_weights(records(10, 2.0)) == {}
    assert fitted_weights([]) == {}
