"""Records -> figures: one object a pattern, as ``summary.json`` and ``wim-edge eval --json`` give them.

A question counts once, however many positions or lengths it was asked at. A failed example counts as wrong; costs
are those of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wim_edge.evaluation.fit import fitted_weights
from wim_edge.evaluation.metrics import auroc, interval, mean_by_question
from wim_edge.evaluation.records import Record
from wim_edge.evaluation.tasks import Task

_BASELINE = "llm"
_FOUND = ("in_quotes", "in_passages")

FITTED = "answerable"
"""The task whose figures fit the weights that tell an absent answer."""


def summarize(
    task: Task, model: str, command: str, records: Iterable[Record], patterns: Sequence[str]
) -> dict[str, Any]:
    """Returns ``task``, ``model``, ``command`` and ``patterns``: an object for each of the named ones, in order."""
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
    by_x = _by_x(task, names, records)
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
        "read_tokens_per_example": _mean(record.prefilled_tokens for record in records),
        "decoded_tokens": _mean(record.decoded_tokens for record in records),
        "peak_rss_bytes": max((record.peak_rss_bytes or 0 for record in answered), default=None),
        "errors": [{"id": record.id, "error": record.error} for record in records if record.error],
    }


def _scores(task: Task, names: Sequence[str], records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``n``, the questions asked, ``examples``, how often they were asked, the mean of every score over
    questions, the main one's interval, and the intervals of all."""
    asked = [record for record in records if record.scores]
    by_name = {name: [(r.group, r.scores[name]) for r in records if name in r.scores] for name in names}
    for name in _FOUND:  # a failed one has found nothing, where the others could
        if by_name.get(name):
            by_name[name] += [(r.group, 0.0) for r in records if r.error and r.answers and name not in r.scores]
    means = {name: _mean(mean_by_question(scores).values()) for name, scores in by_name.items()}
    intervals = {name: interval(scores) for name, scores in by_name.items()}
    n = len({record.group for record in asked})
    return {"n": n, "examples": len(asked), **means, "ci95": intervals[task.metric], "intervals": intervals}


def _absent(records: Sequence[Record]) -> dict[str, Any]:
    """Returns how well absent answers are told, where there are some: ``not_found_rate`` of the questions that have no
    answer, ``false_not_found_rate`` of those that have one, ``guess_rate`` of the former that are answered as a guess,
    and ``auroc`` of the confidence."""
    unanswerable = [record for record in records if record.unanswerable]
    if not unanswerable:
        return {}
    answerable = [record for record in records if not record.unanswerable and record.answers]
    confidence = [[r.confidence for r in some if r.confidence is not None] for some in (answerable, unanswerable)]
    return {
        "n_unanswerable": len(unanswerable),
        "auroc": auroc(*confidence),
        "not_found_rate": _mean(record.scores.get("not_found") for record in unanswerable),
        "false_not_found_rate": _mean(record.scores.get("not_found") for record in answerable),
        "guess_rate": _mean(record.scores.get("guess") for record in unanswerable),
    }


def _sure(records: Sequence[Record]) -> dict[str, Any]:
    """Returns, where guesses are told apart, ``sure``, the share of questions that are answered without such a word,
    and ``right_when_sure``, of those the share that holds a right answer."""
    told = [record.scores for record in records if "guess" in record.scores]
    if not told:
        return {}
    sure = [scores for scores in told if not scores.get("not_found") and not scores["guess"]]
    right = _mean(scores.get("contains", 0.0) for scores in sure)
    return {"sure": len(sure) / len(told), "right_when_sure": right}


def _seconds(records: Sequence[Record]) -> dict[str, Any]:
    """Returns ``seconds_per_example`` and, where questions share documents, the seconds of the first question on each
    and of later ones."""
    found: dict[str, Any] = {"seconds_per_example": _mean(record.seconds for record in records)}
    if any(record.is_first is not None for record in records):
        found["seconds_first"] = _mean(record.seconds for record in records if record.is_first)
        found["seconds_later"] = _mean(record.seconds for record in records if record.is_first is False)
    return found


def _by_x(task: Task, names: Sequence[str], records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    values = sorted({record.x for record in records if record.x is not None})
    return {str(x): _scores(task, names, [record for record in records if record.x == x]) for x in values}


def _gold_within(rank: int, records: Iterable[Record]) -> float | None:
    """Returns the share of ranked questions with a known gold document that have it among the first segments."""
    ranked = [(r.group, float(1 <= r.gold_rank <= rank)) for r in records if r.gold_rank is not None]
    return _mean(mean_by_question(ranked).values())


def _cost_ratio(records: Iterable[Record], baseline: Iterable[Record]) -> float | None:
    """Returns seconds over those of the pattern llm, for the examples that both answered."""
    theirs = {record.id: record.seconds for record in baseline if record.seconds is not None}
    both = [(record.seconds, theirs[record.id]) for record in records if record.id in theirs]
    spent, base = sum(pair[0] or 0.0 for pair in both), sum(pair[1] for pair in both)
    return spent / base if base else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
