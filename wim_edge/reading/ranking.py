"""The ranking of segments: P(segment answers | question), the softmax of one logit per segment (Bayes' rule)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from wim_edge.reading.outlook import Outlook

_PROBABLE, _NEAR, _NEAR_ALONE = 0.5, 0.1, 0.03


@dataclass
class Ranking:
    """The scores of a document's segments.

    Without an ``outlook`` the score is the logit, and a segment without a score has logit 0, as no text would.
    ``independent``: scores are log-odds, each for its segment alone.
    """

    n_segments: int
    independent: bool = False
    scores: dict[int, float] = field(default_factory=dict)
    """Raw scores; with ``answers``, only of segments that were among the first when they were read."""
    verdicts: Mapping[int, bool] = field(default_factory=dict)
    """The user's verdicts: an accepted segment always matters, a rejected one never."""
    answers: dict[int, float] = field(default_factory=dict)
    """An adapter's log-odds that segments answer; used with an outlook only."""
    outlook: Outlook | None = None
    """The prior of the segments; None: uniform."""

    @property
    def known(self) -> list[int]:
        """The segments with a score or an adapter's log-odds."""
        alone = self.independent or self.outlook is None
        return list(self.scores) if alone else list(dict.fromkeys([*self.answers, *self.scores]))

    def relevance(self, index: int) -> float:
        """Returns the relevance, 0 to 1, given all that is scored so far."""
        if index not in self.known:
            return 0.0
        if self.independent:
            return float(1 / (1 + np.exp(-self.scores[index])))
        logits = self._logits()
        return float(1 / np.exp(logits - logits[index]).sum())

    def unread(self) -> float | None:
        """Returns P(a segment without a score answers better than all others); None if nothing is known of those."""
        if self.independent or self.outlook is None:
            return None
        logits, known = self._logits(), self.known
        if len(known) == self.n_segments:
            return 0.0
        logits[[index for index in known if self.verdicts.get(index) is False]] = -np.inf
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        return float(max(0.0, 1 - shares[known].sum()))

    def order(self) -> list[int]:
        """Returns the known segments, most relevant first."""
        logits = None if self.independent or self.outlook is None else self._logits()
        by = self.scores if logits is None else {index: float(logits[index]) for index in self.known}
        return sorted(by, key=lambda index: (-by[index], index))

    def without_verdict(self) -> list[int]:
        """Returns the known segments without the user's verdict, most relevant first."""
        return [index for index in self.order() if index not in self.verdicts]

    def chosen(self, at_most: int, threshold: float | None = None) -> list[int]:
        """Returns up to ``at_most`` segments that matter, most relevant first, after all that the user accepts.

        Log-odds: those whose relevance reaches the threshold (default 0.5). Else: those that make the question likelier
        than no text does, and reach the best one's relevance times the threshold (default 0.1, or 0.03 with an
        outlook): the gap decides, not the number.
        """
        accepted = [index for index in self.order() if self.verdicts.get(index)]
        best = self.without_verdict()[: max(0, at_most - len(accepted))]
        if self.independent:
            least = _PROBABLE if threshold is None else threshold
        else:
            near = _NEAR if self.outlook is None else _NEAR_ALONE
            best = [index for index in best if max(self.scores.get(index, 0.0), self.answers.get(index, 0.0)) > 0]
            least = (near if threshold is None else threshold) * self.relevance(best[0]) if best else 0.0
        return [*accepted, *(index for index in best if self.relevance(index) >= least)]

    def is_first(self, index: int, n: int) -> bool:
        """Returns whether a segment is among the first n by prior and adapter alone; True without either."""
        if self.independent or self.outlook is None:
            return True
        weight, prior = self.outlook.weights.answers, self.outlook.prior
        logits = {one: prior[one] + weight * odds for one, odds in self.answers.items()}
        return sum(logit >= logits[index] for one, logit in logits.items() if one != index) < n

    def _logits(self) -> np.ndarray:
        """Returns the logits, of shape [n_segments]."""
        indices, scores = list(self.scores), np.array(list(self.scores.values()))
        if self.outlook is None:
            logits = np.zeros(self.n_segments)
            logits[indices] = scores
            return logits
        weights, logits = self.outlook.weights, np.array(self.outlook.prior)
        logits[self.known] += weights.known
        logits[indices] += weights.nats * scores
        logits[list(self.answers)] += weights.answers * np.array(list(self.answers.values()))
        return logits
