"""Support: how likely it is that the documents hold an answer, 0 to 1, from absolute evidence.

A share among segments says which one is the best, not whether any is good. Absolute evidence is combined in one logit
by weights fitted for the model (`wim-edge eval answerable`, models.toml), or cautious ones for a model without any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

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
        """Returns the weights that models.toml names; without any, cautious ones.

        Raises ValueError for a name that is no weight, or a value that is no number.
        """
        known = {field.name for field in fields(cls)}
        if given and (given.keys() != known or any(not isinstance(value, int | float) for value in given.values())):
            raise ValueError(f"support takes {', '.join(sorted(known))}, each a number")
        return cls(**{name: float(value) for name, value in given.items()})  # type: ignore[arg-type]

    def support(self, evidence: Evidence) -> float:
        """Returns the support, 0 to 1."""
        weights = asdict(self)
        logit = weights.pop("bias") + sum(weights[name] * value for name, value in asdict(evidence).items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
