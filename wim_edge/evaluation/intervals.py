"""95% confidence intervals of means of questions, and how well a figure tells two kinds of questions apart."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
_Z = 1.959964  # of 95%


def interval(scores: Sequence[tuple[str, float]]) -> list[float] | None:
    """Returns [low, high] of the mean of (question, score), or None without any.

    Several scores of one question (at several positions) count as their mean: they are not independent. Where every
    question is 0 or 1, or all are alike, it is Wilson's interval (1927), which does not shrink to nothing where none
    or all are right; else the percentile bootstrap over questions, 2,000 resamples with a fixed seed.
    """
    means = list(mean_by_question(scores).values())
    if not means:
        return None
    if set(means) <= {0.0, 1.0} or len(set(means)) == 1:
        return _wilson(sum(means) / len(means), len(means))
    rng = np.random.default_rng(0)
    drawn = np.asarray(means)[rng.integers(len(means), size=(RESAMPLES, len(means)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return [round(float(low), 6), round(float(high), 6)]


def mean_by_question(scores: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Returns the mean score of each question."""
    by_question: dict[str, list[float]] = defaultdict(list)
    for question, score in scores:
        by_question[question].append(score)
    return {question: sum(found) / len(found) for question, found in by_question.items()}


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Returns the probability that a positive is above a negative, ties as halves; None without one of them."""
    if not positive or not negative:
        return None
    above = np.subtract.outer(np.asarray(positive), np.asarray(negative))
    return float((np.sign(above) / 2 + 0.5).mean())


def _wilson(share: float, n: int) -> list[float]:
    middle, half = share + _Z**2 / (2 * n), _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + _Z**2 / n) for sign in (-1, 1))
    return [round(max(0.0, low), 6), round(min(1.0, high), 6)]
