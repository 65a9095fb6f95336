"""Records -> figures: one object a pattern, as ``summary.json`` and ``wim-edge eval --json`` give them.

Confidence intervals are 95% percentile bootstrap intervals over questions (`Example.group`), 2,000 resamples
with a fixed seed: the positions of one question are resampled together, as they are not independent.
A failed example counts as wrong; costs are those of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wim_edge.evaluation.store import Record
from wim_edge.evaluation.tasks import Task

RESAMPLES = 2000
_BASELINE = "llm"


def summarize(
    task: Task, model: str, command: str, records: Iterable[Record], patterns: Sequence[str]
) -> dict[str, Any]:
    """``task``, ``model``, ``command`` and ``patterns``: an object for each of the named ones, in their order."""
    by_pattern: dict[str, list[Record]] = {name: [] for name in patterns}
    for record in records:
        if record.pattern in by_pattern:
            by_pattern[record.pattern].append(record)
    baseline = by_pattern.get(_BASELINE, [])
    return {
        "task": task.name,
        "model": model,
        "command": command,
        "patterns": [_pattern(task, model, name, found, baseline) for name, found in by_pattern.items()],
    }


def _pattern(
    task: Task, model: str, name: str, records: Sequence[Record], baseline: Sequence[Record]
) -> dict[str, Any]:
    by_x = _by_x(task, records)
    means = [figures[task.metric] for figures in by_x.values() if figures[task.metric] is not None]
    answered = [record for record in records if record.seconds is not None]
    found: dict[str, Any] = {
        "task": task.name,
        "model": model,
        "pattern": name,
        "resolved_pattern": next((record.resolved_pattern for record in answered), None),
        **_scores(task, records),
        "spread": max(means) - min(means) if means else None,
    }
    if by_x:
        found[f"by_{task.swept}"] = by_x
    return {
        **found,
        "gold_ranked_first": _gold_within(1, records),
        "gold_in_first_two": _gold_within(2, records),
        "margins_located": _located(records),
        "seconds_per_example": _mean(record.seconds for record in records),
        "cost_vs_llm": _cost_ratio(answered, baseline),
        "prefilled_tokens": _mean(record.prefilled_tokens for record in records),
        "decoded_tokens": _mean(record.decoded_tokens for record in records),
        "peak_rss_bytes": max((record.peak_rss_bytes or 0 for record in answered), default=None),
        "errors": [{"id": record.id, "error": record.error} for record in records if record.error],
    }


def _scores(task: Task, records: Sequence[Record]) -> dict[str, Any]:
    """``n`` asked, the mean of every score, and the interval of the main one."""
    asked = [record for record in records if task.metric in record.scores]
    names = dict.fromkeys(("accuracy", *(name for record in records for name in record.scores)))
    means = {name: _mean(record.scores.get(name) for record in records) for name in names}
    interval = bootstrap([(record.group, record.scores[task.metric]) for record in asked])
    return {"n": len(asked), **means, "ci95": interval}


def _by_x(task: Task, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    values = sorted({record.x for record in records if record.x is not None})
    return {str(x): _scores(task, [record for record in records if record.x == x]) for x in values}


def bootstrap(scores: Sequence[tuple[str, float]], resamples: int = RESAMPLES) -> list[float] | None:
    """The 95% percentile bootstrap interval of the mean of (group, score), groups resampled whole."""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, score in scores:
        groups[group].append(score)
    if not groups:
        return None
    sums = np.array([sum(found) for found in groups.values()])
    sizes = np.array([len(found) for found in groups.values()])
    rng = np.random.default_rng(0)
    drawn = (rng.integers(len(sums), size=len(sums)) for _ in range(resamples))
    means = [float(sums[chosen].sum() / sizes[chosen].sum()) for chosen in drawn]
    low, high = np.percentile(means, [2.5, 97.5])
    return [round(float(low), 6), round(float(high), 6)]


def _gold_within(rank: int, records: Iterable[Record]) -> float | None:
    """The share of ranked examples with a known gold document that have it among the first segments."""
    return _mean(float(1 <= r.gold_rank <= rank) for r in records if r.gold_rank is not None)


def _located(records: Iterable[Record]) -> list[int] | None:
    pairs = [record.margins_located for record in records if record.margins_located is not None]
    return [sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)] if pairs else None


def _cost_ratio(records: Iterable[Record], baseline: Iterable[Record]) -> float | None:
    """Seconds over those of the pattern llm, for the examples that both answered."""
    theirs = {record.id: record.seconds for record in baseline if record.seconds is not None}
    both = [(record.seconds, theirs[record.id]) for record in records if record.id in theirs]
    spent, base = sum(pair[0] or 0.0 for pair in both), sum(pair[1] for pair in both)
    return spent / base if base else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
