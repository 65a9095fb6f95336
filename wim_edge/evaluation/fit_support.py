"""Fits the weights of `wim_edge.support` on questions with and without an answer in their documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.evaluation.intervals import auroc
from wim_edge.evaluation.records import Record
from wim_edge.support import Evidence, SupportWeights

NAMES = tuple(field.name for field in fields(Evidence))
_RIDGE = 1.0
"""The ridge for the weights of standardized evidence: dozens of questions must not make any of them large."""
_FOLDS, _STEPS, _LEAST = 5, 50, 8


def fit_support(records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``support``, the weights by name as models.toml takes them, and ``support_auroc``, of questions that
    they were not fitted on (five folds, by question); nothing where too few questions of either kind have evidence."""
    some = [record for record in records if record.evidence is not None]
    evidence = np.array([[(record.evidence or {}).get(name, 0.0) for name in NAMES] for record in some], float)
    answerable = np.array([not record.unanswerable for record in some], float)
    if min(answerable.sum(), (1 - answerable).sum()) < _LEAST:
        return {}
    groups = {group: n for n, group in enumerate(dict.fromkeys(record.group for record in some))}
    folds = np.array([groups[record.group] % _FOLDS for record in some])
    held_out = np.zeros(len(some))
    for fold in range(_FOLDS):
        inside = folds != fold
        bias, weights = _fit(evidence[inside], answerable[inside])
        held_out[~inside] = bias + evidence[~inside] @ weights
    bias, weights = _fit(evidence, answerable)
    by_name = {"bias": round(bias, 3), **{name: round(float(w), 4) for name, w in zip(NAMES, weights, strict=True)}}
    SupportWeights.from_mapping(by_name)
    yes = [float(score) for score, kind in zip(held_out, answerable, strict=True) if kind]
    no = [float(score) for score, kind in zip(held_out, answerable, strict=True) if not kind]
    return {"support": by_name, "support_auroc": auroc(yes, no)}


def _fit(evidence: NDArray[np.float64], answerable: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Fits a logistic regression by Newton's method; returns the bias and a weight for each kind of evidence."""
    mean, spread = evidence.mean(0), evidence.std(0)
    spread[spread < 1e-9] = np.inf  # what never varies says nothing
    rows = np.column_stack([np.ones(len(evidence)), (evidence - mean) / spread])
    ridge = np.diag([1e-3, *[_RIDGE] * evidence.shape[1]])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        told = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (answerable - told) - ridge @ found
        step = np.linalg.solve(rows.T @ (rows * (told * (1 - told))[:, None]) + ridge, slope)
        found += step
        if np.abs(step).max() < 1e-6:
            break
    weights = found[1:] / spread
    return float(found[0] - mean @ weights), weights
