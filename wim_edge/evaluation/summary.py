"""Turns records into figures: an object for each pattern, as in ``summary.json`` and ``wim-edge eval --json``.

For the task ``answerable``, the figures include weights for models.toml: ``support`` and ``confirmation``.

A question counts once, even if it was asked at several positions or lengths. A failed example counts as a wrong answer,
but not in the means of time and tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.evaluation.metrics import auroc, interval, mean, mean_by_question
from wim_edge.evaluation.records import Record
from wim_edge.evaluation.tasks import Task
from wim_edge.support import Confirmation, SupportWeights

_BASELINE = "llm"
_FOUND = ("in_quotes", "in_passages")

FITTED = "answerable"
"""The task whose results are used to fit the weights that recognise absent answers."""


def summarize(
    task: Task, model: str, command: str, records: Iterable[Record], patterns: Sequence[str]
) -> dict[str, Any]:
    """Returns ``task``, ``model``, ``command`` and ``patterns``: a list with the figures of each named pattern."""
    by_pattern: dict[str, list[Record]] = {name: [] for name in patterns}
    for record in records:
        if record.pattern in by_pattern:
            by_pattern[record.pattern].append(record)
    baseline = by_pattern.get(_BASELINE, [])
    names = tuple(dict.fromkeys((task.metric, *(n for some in by_pattern.values() for r in some for n in r.scores))))
    return {
        "task": task.name,
        "model": model,
        "command": command,
        "patterns": [_pattern(task, names, model, name, found, baseline) for name, found in by_pattern.items()],
    }


def _pattern(
    task: Task, names: Sequence[str], model: str, name: str, records: Sequence[Record], baseline: Sequence[Record]
) -> dict[str, Any]:
    values = sorted({record.x for record in records if record.x is not None})
    by_x = {str(x): _scores(task, names, [record for record in records if record.x == x]) for x in values}
    means = [figures[task.metric] for figures in by_x.values() if figures[task.metric] is not None]
    answered = [record for record in records if record.seconds is not None]
    found: dict[str, Any] = {
        "task": task.name,
        "model": model,
        "pattern": name,
        "resolved_pattern": next((record.resolved_pattern for record in answered), None),
        **_scores(task, names, records),
        **_sure(records),
        **_absent(records),
        **(fitted_weights(records) if task.name == FITTED else {}),
        "spread": max(means) - min(means) if len(means) > 1 else None,
    }
    if by_x:
        found[f"by_{task.swept}"] = by_x
    return {
        **found,
        "gold_ranked_first": _gold_within(1, records),
        "gold_in_first_two": _gold_within(2, records),
        **_seconds(records),
        "cost_vs_llm": _cost_ratio(answered, baseline),
        "read_tokens_per_example": mean(record.prefilled_tokens for record in records),
        "decoded_tokens": mean(record.decoded_tokens for record in records),
        "peak_rss_bytes": max((record.peak_rss_bytes or 0 for record in answered), default=None),
        "errors": [{"id": record.id, "error": record.error} for record in records if record.error],
    }


def _scores(task: Task, names: Sequence[str], records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``n`` (number of questions), ``examples`` (number of examples with scores), each score's mean over
    questions, ``intervals`` (each score's 95% interval) and ``ci95`` (the main score's interval)."""
    asked = [record for record in records if record.scores]
    by_name = {name: [(r.group, r.scores[name]) for r in records if name in r.scores] for name in names}
    for name in _FOUND:  # 0 for a failed question, if others have the score
        if by_name.get(name):
            by_name[name] += [(r.group, 0.0) for r in records if r.error and r.answers and name not in r.scores]
    means = {name: mean(mean_by_question(scores).values()) for name, scores in by_name.items()}
    intervals = {name: interval(scores) for name, scores in by_name.items()}
    n = len({record.group for record in asked})
    return {"n": n, "examples": len(asked), **means, "ci95": intervals[task.metric], "intervals": intervals}


def _absent(records: Sequence[Record]) -> dict[str, Any]:
    """Returns figures about unanswerable questions; empty without any. ``not_found_rate``, ``guess_rate``: the shares
    of "not found" and of guesses ("Perhaps") among replies to these. ``false_not_found_rate``: the share of "not found"
    among replies to answerable questions. ``auroc``: how well the confidence separates the two kinds of questions."""
    unanswerable = [record for record in records if record.unanswerable]
    if not unanswerable:
        return {}
    answerable = [record for record in records if not record.unanswerable and record.answers]
    confidence = [[r.confidence for r in some if r.confidence is not None] for some in (answerable, unanswerable)]
    return {
        "n_unanswerable": len(unanswerable),
        "auroc": auroc(*confidence),
        "not_found_rate": mean(record.scores.get("not_found") for record in unanswerable),
        "false_not_found_rate": mean(record.scores.get("not_found") for record in answerable),
        "guess_rate": mean(record.scores.get("guess") for record in unanswerable),
    }


def _sure(records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``sure``, the share of replies that are neither "not found" nor a guess ("Perhaps"), and
    ``right_when_sure``, the share of these that contain a right answer. Empty if no record has the score ``guess``."""
    scored = [record.scores for record in records if "guess" in record.scores]
    if not scored:
        return {}
    sure = [scores for scores in scored if not scores.get("not_found") and not scores["guess"]]
    right = mean(scores.get("contains", 0.0) for scores in sure)
    return {"sure": len(sure) / len(scored), "right_when_sure": right}


def _seconds(records: Sequence[Record]) -> dict[str, Any]:
    """Returns the mean ``seconds_per_example``. If questions share documents, also the means for the first question on
    each document (``seconds_first``) and for later ones (``seconds_later``)."""
    found: dict[str, Any] = {"seconds_per_example": mean(record.seconds for record in records)}
    if any(record.is_first is not None for record in records):
        found["seconds_first"] = mean(record.seconds for record in records if record.is_first)
        found["seconds_later"] = mean(record.seconds for record in records if record.is_first is False)
    return found


def _gold_within(rank: int, records: Iterable[Record]) -> float | None:
    """Returns the share of questions with gold text in the ``rank`` best segments; None if no segments were ranked."""
    ranked = [(r.group, float(1 <= r.gold_rank <= rank)) for r in records if r.gold_rank is not None]
    return mean(mean_by_question(ranked).values())


def _cost_ratio(records: Iterable[Record], baseline: Iterable[Record]) -> float | None:
    """Returns the ratio of seconds, ``records`` to ``baseline``, over the examples that both answered; None if none."""
    theirs = {record.id: record.seconds for record in baseline if record.seconds is not None}
    both = [(record.seconds, theirs[record.id]) for record in records if record.id in theirs]
    spent, base = sum(pair[0] or 0.0 for pair in both), sum(pair[1] for pair in both)
    return spent / base if base else None


_RIDGE = 1.0  # on weights of standardized evidence: dozens of questions must not make a weight large
_FOLDS, _STEPS, _LEAST = 5, 50, 8


def tally_scores(metric: str, rows: Iterable[Record]) -> str:
    """Returns a text with the mean of ``metric``, the main score, for each pattern, in percent."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if metric in row.scores:
            scores.setdefault(row.pattern, []).append(row.scores[metric])
    means = (f"{name} {100 * sum(found) / len(found):.1f}%" for name, found in scores.items())
    return f"{metric} {', '.join(means)}"


def fitted_weights(records: Sequence[Record]) -> dict[str, Any]:
    """Returns the fitted weights ``support`` and ``confirmation`` by name, as in models.toml, and the AUROC of each.

    The AUROC is cross-validated (five folds, by question). If too few questions have evidence, ``support`` is left out,
    and ``confirmation`` has default weights or is left out.
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
    """Fits weights that detect answerable questions. Returns (weights by name, AUROC); None for too few questions."""
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
    """Returns {"agreed": weight}, the likeliest weight of a writer's agreement, from 0 to 4 in steps of 0.1.

    With this weight, `Confirmation.share` best predicts which answers are right. {} if fewer than 8 records tell.
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
    """Returns (bias, weights) of a ridge logistic regression on ``evidence``: shape (examples, kinds of evidence)."""
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
