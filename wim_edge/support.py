"""Support: how likely the documents hold an answer, 0 to 1, from absolute evidence.

A share among segments says which one is the best, not whether any is good. What speaks for itself is put into one
logit by weights fitted for the model (`wim-edge eval answerable`, models.toml), cautious ones for a model without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

ANSWERED, NOT_FOUND = 0.5, 0.3
"""From the first on the answer is given as it is; below the second there is none; between them it is unsure."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for an answer's being in the documents. Nats, unless said otherwise."""

    likelihood: float = 0.0
    """By which the best passage makes the question likelier than no text does."""
    answers: float = 0.0
    """Log-odds of the most hopeful passage's answering, as an adapter says it; 0 without one."""
    run: float = 0.0
    """Log-probability of the short answer, with its end, after its passage."""
    missing: float = 0.0
    """Share of the question's words, by how rare they are, that stand in no passage that was read; 0 to 1."""


@dataclass(frozen=True)
class SupportWeights:
    """What a unit of each kind of evidence adds to the logit of support, and where it begins."""

    bias: float = 1.5
    likelihood: float = 0.12
    answers: float = 0.0
    run: float = 0.0
    missing: float = -3.0

    @classmethod
    def from_mapping(cls, given: Mapping[str, object]) -> SupportWeights:
        """Returns the weights that models.toml names; without any, cautious ones.

        Raises ValueError for a name or value that is none.
        """
        known = {field.name for field in fields(cls)}
        if given and (given.keys() != known or any(not isinstance(value, int | float) for value in given.values())):
            raise ValueError(f"support takes {', '.join(sorted(known))}, each a number")
        return cls(**{name: float(value) for name, value in given.items()})  # type: ignore[arg-type]

    def support(self, evidence: Evidence) -> float:
        """Returns the probability, 0 to 1."""
        weights = asdict(self)
        logit = weights.pop("bias") + sum(weights[name] * value for name, value in asdict(evidence).items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
