"""Weights for models.toml, fitted to the answers of a run: support, confirmation and the weight of agreement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.evaluation.metrics import auroc
from wim_edge.evaluation.records import Record
from wim_edge.support import Confirmation, SupportWeights

_RIDGE = 1.0  # for weights of standardized evidence: dozens of questions must not make any of them large
_FOLDS, _STEPS, _LEAST = 5, 50, 8


def fitted_weights(records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``support`` and ``confirmation``, the weights by name as in models.toml, and the AUROC of each.

    The AUROC is over questions that the weights were not fitted on (five folds, by question). Weights for which too
    few questions have the evidence keep their defaults, or are left out.
    """
    found: dict[str, Any] = {}
    if support := _logistic(records, SupportWeights):
        found |= {"support": support[0], "support_auroc": support[1]}
    weighs, rating = _logistic(records, Confirmation) or ({}, None)
    if given := weighs | _agreement(records):
        found |= {"confirmation": asdict(Confirmation()) | given, "confirmation_auroc": rating}
    return found


def _logistic(
    records: Sequence[Record], kind: type[SupportWeights] | type[Confirmation]
) -> tuple[dict[str, float], float | None] | None:
    """Returns the weights of a logistic regression, by name, and their AUROC; None for too few questions."""
    names = [field.name for field in fields(kind) if field.name not in ("bias", "agreed")]
    some = [record for record in records if record.evidence is not None and set(names) <= record.evidence.keys()]
    evidence = np.array([[(record.evidence or {})[name] for name in names] for record in some], float)
    answerable = np.array([not record.unanswerable for record in some], float)
    if min(answerable.sum(), (1 - answerable).sum()) < _LEAST:
        return None
    groups = {group: n for n, group in enumerate(dict.fromkeys(record.group for record in some))}
    folds = np.array([groups[record.group] % _FOLDS for record in some])
    held_out = np.zeros(len(some))
    for fold in range(_FOLDS):
        inside = folds != fold
        bias, weights = _fit(evidence[inside], answerable[inside])
        held_out[~inside] = bias + evidence[~inside] @ weights
    bias, weights = _fit(evidence, answerable)
    by_name = {"bias": round(bias, 3), **{name: round(float(w), 4) for name, w in zip(names, weights, strict=True)}}
    yes = [float(score) for score, is_there in zip(held_out, answerable, strict=True) if is_there]
    no = [float(score) for score, is_there in zip(held_out, answerable, strict=True) if not is_there]
    return by_name, auroc(yes, no)


def _agreement(records: Sequence[Record]) -> dict[str, float]:
    """Returns ``agreed``, the most likely weight of a writer's agreement (`Confirmation.share`), in steps.

    It is fitted to which answers contain a gold answer. Empty if a writer was asked too few questions.
    """
    known = [(record, record.evidence) for record in records if record.evidence and "agreed" in record.evidence]
    if len(known) < _LEAST:
        return {}

    def loss(weight: float) -> float:
        total = 0.0
        for record, one in known:
            share = Confirmation(agreed=weight).share(one["share"], is_agreed=one["agreed"] > 0)
            right = share * (record.confidence or 0.0)
            is_right = record.scores.get("contains", record.scores.get("f1", 0.0)) > 0
            total -= math.log(max(right if is_right else 1 - right, 1e-6))
        return total

    return {"agreed": min((step / 10 for step in range(41)), key=loss)}


def _fit(evidence: NDArray[np.float64], answerable: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Fits a logistic regression by Newton's method; returns the bias and a weight for each kind of evidence."""
    mean, spread = evidence.mean(0), evidence.std(0)
    spread[spread < 1e-9] = np.inf  # evidence that never varies has no weight
    rows = np.column_stack([np.ones(len(evidence)), (evidence - mean) / spread])
    ridge = np.diag([1e-3, *[_RIDGE] * evidence.shape[1]])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (answerable - likely) - ridge @ found
        step = np.linalg.solve(rows.T @ (rows * (likely * (1 - likely))[:, None]) + ridge, slope)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    weights = found[1:] / spread
    return float(found[0] - mean @ weights), weights
