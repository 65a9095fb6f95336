"""Support: the probability that the documents contain an answer.

The ranking shows which segment answers best, but not whether any segment answers. So evidence that does not compare
segments gives a logit, by weights fitted for the model (`wim-edge eval answerable`, models.toml) or cautious defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Self

ANSWERED, NOT_FOUND = 0.5, 0.3
"""The least support for the status "answered" and for "unsure". Below the second, the status is "not_found"."""
_MOST_SAID = 1.5  # nats: to ask where more is needed gained nothing on 199 questions


@dataclass(frozen=True)
class Evidence:
    """The evidence that the documents contain an answer. Values are in nats unless noted otherwise."""

    likelihood: float = 0.0
    """log P(question | best passage) - log P(question)."""
    answers: float = 0.0
    """An adapter's log-odds that the best passage answers; 0 without an adapter."""
    run: float = 0.0
    """log P(the short answer, then a line end | its passage), minus the losses of pointing (`AnswerRun.logprob`)."""
    missing: float = 0.0
    """The share, 0 to 1, of the question's words that are in no passage."""
    writer: float | None = None
    """The writer's log-odds that the passages answer; None if the writer was not asked."""
    judge: float | None = None
    """The log-odds of the judge's support before the writer was asked; None if the writer was not asked."""
    share: float | None = None
    """P(the judge's answer is right | the documents contain an answer), by the judge alone; None without candidates."""
    agreed: float | None = None
    """1 if the writer gave the judge's answer without seeing it, 0 if another; None: the answers were not compared."""

    def to_dict(self) -> dict[str, float]:
        """Returns the evidence by name, without values of None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class _Weights:
    table: ClassVar[str]

    @classmethod
    def from_mapping(cls, given: Mapping[str, object]) -> Self:
        """Returns the weights in ``given``, a table of models.toml; for an empty table, the defaults. Raises ValueError
        for missing or unknown names, and for values that are not numbers."""
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if given and (given.keys() != known or any(not isinstance(value, int | float) for value in given.values())):
            raise ValueError(f"{cls.table} takes {', '.join(sorted(known))}, each a number")
        return cls(**{name: float(value) for name, value in given.items()})  # type: ignore[arg-type]


@dataclass(frozen=True)
class SupportWeights(_Weights):
    """The bias of the support's logit, and the weight of each kind of evidence."""

    table = "support"
    bias: float = 1.5
    likelihood: float = 0.12
    answers: float = 0.0
    run: float = 0.0
    missing: float = -3.0

    def support(self, evidence: Evidence) -> float:
        """Returns the support, 0 to 1, from the evidence of the reading. The writer's evidence is not used."""
        return sigmoid(sum(self.terms(evidence.to_dict()).values()))

    def terms(self, evidence: Mapping[str, float]) -> dict[str, float]:
        """Returns what each kind of evidence adds to the support's logit, in nats. Leaves out kinds with weight 0."""
        known = {"bias": 1.0, **evidence}
        return {name: weight * known.get(name, 0.0) for name, weight in asdict(self).items() if weight}


@dataclass(frozen=True)
class Confirmation(_Weights):
    """The weights of a writer's verdict: ``bias + judge * logit(support) + writer * Evidence.writer`` is the logit of
    the confirmed support. Agreement adds ``agreed`` nats to the logit of the share; disagreement subtracts them."""

    table = "confirmation"
    bias: float = 0.0
    judge: float = 1.0
    writer: float = 0.25
    agreed: float = 0.6

    def support(self, judged: float, says: float | None) -> float:
        """Returns the support, 0 to 1, after the writer was asked. ``says``: the writer's log-odds; None: not asked."""
        return judged if says is None else sigmoid(self.bias + self.judge * logit(judged) + self.writer * says)

    def matters(self, support: float) -> bool:
        """Returns whether the writer's log-odds can move ``support`` across `NOT_FOUND` or `ANSWERED`."""
        least, most = (self.support(support, says) for says in (-_MOST_SAID, _MOST_SAID))
        return any(least < bound <= most for bound in (NOT_FOUND, ANSWERED))

    def share(self, judged: float, *, is_agreed: bool) -> float:
        """Returns ``judged``, P(the judge's answer is right), raised if the writer agrees and lowered if not."""
        return sigmoid(logit(judged) + (self.agreed if is_agreed else -self.agreed))


def logit(probability: float) -> float:
    """Returns the log-odds of a probability, clipped to about -30 to 30."""
    kept = min(max(probability, 1e-13), 1 - 1e-13)
    return math.log(kept / (1 - kept))


def sigmoid(logit: float) -> float:
    """Returns the probability of log-odds, which are clipped to -30 to 30."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
