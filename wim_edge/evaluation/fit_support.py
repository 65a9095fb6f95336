"""Fits the weights of `wim_edge.support` on questions with and without an answer in their documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.evaluation.intervals import auroc
from wim_edge.evaluation.records import Record
from wim_edge.support import Confirmation, SupportWeights

_RIDGE = 1.0
"""The ridge for the weights of standardized evidence: dozens of questions must not make any of them large."""
_FOLDS, _STEPS, _LEAST = 5, 50, 8


def fit_support(records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``support`` and, of questions that a writer was asked too, ``confirmation``: the weights by name as
    models.toml takes them; and the AUROC of each on questions that they were not fitted on (five folds, by question).
    Nothing where too few questions of either kind have the evidence."""
    return {**_fitted(records, "support", SupportWeights), **_fitted(records, "confirmation", Confirmation)}


def _fitted(records: Sequence[Record], key: str, kind: type[SupportWeights] | type[Confirmation]) -> dict[str, Any]:
    names = [field.name for field in fields(kind) if field.name != "bias"]
    some = [record for record in records if record.evidence is not None and set(names) <= record.evidence.keys()]
    evidence = np.array([[(record.evidence or {})[name] for name in names] for record in some], float)
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
    by_name = {"bias": round(bias, 3), **{name: round(float(w), 4) for name, w in zip(names, weights, strict=True)}}
    kind.from_mapping(by_name)
    yes = [float(score) for score, is_there in zip(held_out, answerable, strict=True) if is_there]
    no = [float(score) for score, is_there in zip(held_out, answerable, strict=True) if not is_there]
    return {key: by_name, f"{key}_auroc": auroc(yes, no)}


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
