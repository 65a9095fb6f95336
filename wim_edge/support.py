"""Support: how likely it is that the documents hold an answer, 0 to 1, from absolute evidence.

A share among segments says which one is the best, not whether any is good. Absolute evidence is combined in one logit
by weights fitted for the model (`wim-edge eval answerable`, models.toml), or cautious ones for a model without any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TypeVar

ANSWERED, NOT_FOUND = 0.5, 0.3
"""Bounds of support: from the first on an answer is given as it is, from the second on as unsure, below it none."""


@dataclass(frozen=True)
class Evidence:
    """The evidence that an answer is in the documents, in nats unless said otherwise."""

    likelihood: float = 0.0
    """The gain in the question's log-likelihood with the best passage, compared with no text."""
    answers: float = 0.0
    """The log-odds that the most promising passage answers, by an adapter; 0 without one."""
    run: float = 0.0
    """The log-probability of the short answer, with its end, after its passage."""
    missing: float = 0.0
    """The share of the question's words that stand in no passage that was read; 0 to 1."""
    writer: float | None = None
    """The log-odds that the passages answer, by the model that words the answer; None if it was not asked."""
    judge: float | None = None
    """The log-odds of the support before that model was asked; None likewise."""

    def to_dict(self) -> dict[str, float]:
        """Returns the evidence that there is, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class SupportWeights:
    """The weights that a unit of each kind of evidence adds to the logit of support, and the bias it begins with."""

    bias: float = 1.5
    likelihood: float = 0.12
    answers: float = 0.0
    run: float = 0.0
    missing: float = -3.0

    @classmethod
    def from_mapping(cls, given: Mapping[str, object]) -> SupportWeights:
        """Returns the weights that models.toml names; without any, cautious ones. Raises ValueError for a name that is
        no weight, or a value that is no number."""
        return _from_mapping(cls, given, "support")

    def support(self, evidence: Evidence) -> float:
        """Returns the support, 0 to 1, before a writer is asked."""
        weights = asdict(self)
        return _sigmoid(weights.pop("bias") + sum(weight * getattr(evidence, name) for name, weight in weights.items()))


@dataclass(frozen=True)
class Confirmation:
    """The weights with which a model that words answers confirms the judge's support, or denies it: the logit of
    support is ``bias + judge * (the judge's logit) + writer * (Evidence.writer)``. Fitted for a model by `wim-edge eval
    answerable`; cautious for others."""

    bias: float = 0.0
    judge: float = 1.0
    writer: float = 0.25

    @classmethod
    def from_mapping(cls, given: Mapping[str, object]) -> Confirmation:
        """Returns the weights that models.toml names, as `SupportWeights.from_mapping` does."""
        return _from_mapping(cls, given, "confirmation")

    def support(self, judged: float, says: float | None) -> float:
        """Returns the support, 0 to 1, after the model was asked; what the judge said, if it was not."""
        if says is None:
            return judged
        return _sigmoid(self.bias + self.judge * logit(judged) + self.writer * says)


def logit(probability: float) -> float:
    """Returns the log-odds of a probability, within the bounds that `SupportWeights.support` has."""
    kept = min(max(probability, 1e-13), 1 - 1e-13)
    return math.log(kept / (1 - kept))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


_W = TypeVar("_W", SupportWeights, Confirmation)


def _from_mapping(kind: type[_W], given: Mapping[str, object], name: str) -> _W:
    known = {field.name for field in fields(kind)}
    if given and (given.keys() != known or any(not isinstance(value, int | float) for value in given.values())):
        raise ValueError(f"{name} takes {', '.join(sorted(known))}, each a number")
    return kind(**{weight: float(value) for weight, value in given.items()})  # type: ignore[arg-type]
