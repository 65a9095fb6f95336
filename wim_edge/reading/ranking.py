"""The ranking of segments: the posterior that each answers the question, from words in common and from scores.

Each segment has a logit. By Bayes' rule P(segment answers | question) is the softmax of the logits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from wim_edge.reading.outlook import Outlook

_PROBABLE, _NEAR, _NEAR_ALONE = 0.5, 0.1, 0.03


@dataclass
class Ranking:
    """The scores of a document's segments, and their meaning beside each other.

    Without an ``outlook`` the score is the logit; a segment that has none (not read yet, or held back by a gate) counts
    with 0, the score of no segment at all. ``independent``: a score is log-odds and speaks for its segment alone.
    """

    n_segments: int
    independent: bool = False
    scores: dict[int, float] = field(default_factory=dict)
    """The scores; if an adapter tells the segments apart (``answers``), only of those among the first when read."""
    verdicts: Mapping[int, bool] = field(default_factory=dict)
    """The reader's verdicts, which count more: an accepted segment matters, a rejected one does not."""
    answers: dict[int, float] = field(default_factory=dict)
    """The log-odds that segments answer, as an adapter tells them; they count with an outlook only."""
    outlook: Outlook | None = None
    """The outlook on the segments before they are scored; None: all count alike."""

    @property
    def known(self) -> list[int]:
        """The segments known by more than their words: by their scores, or by the adapter."""
        alone = self.independent or self.outlook is None
        return list(self.scores) if alone else list(dict.fromkeys([*self.answers, *self.scores]))

    def relevance(self, index: int) -> float:
        """Returns the relevance, 0 to 1, as of all that has been scored so far."""
        if index not in self.known:
            return 0.0
        if self.independent:
            return float(1 / (1 + np.exp(-self.scores[index])))
        logits = self._logits()
        return float(1 / np.exp(logits - logits[index]).sum())

    def unread(self) -> float | None:
        """Returns the probability that a segment without a score answers better than all that have one; None if nothing
        is known of those without."""
        if self.independent or self.outlook is None:
            return None
        logits, known = self._logits(), self.known
        if len(known) == self.n_segments:
            return 0.0
        logits[[index for index in known if self.verdicts.get(index) is False]] = -np.inf  # none of these answers
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        return float(max(0.0, 1 - shares[known].sum()))

    def order(self) -> list[int]:
        """Returns the scored segments, most relevant first."""
        logits = None if self.independent or self.outlook is None else self._logits()
        by = self.scores if logits is None else {index: float(logits[index]) for index in self.known}
        return sorted(by, key=lambda index: (-by[index], index))

    def without_verdict(self) -> list[int]:
        """Returns the scored segments of which the reader has said nothing, most relevant first."""
        return [index for index in self.order() if index not in self.verdicts]

    def chosen(self, at_most: int, threshold: float | None = None) -> list[int]:
        """Returns up to ``at_most`` segments that matter, most relevant first.

        With log-odds these are the segments whose relevance reaches the threshold (None: 0.5); else those that make the
        question likelier than no text at all, and have the best one's relevance times the threshold (None: 0.1, or 0.03
        with an outlook) or more: the gap decides, not the number. Those that the reader accepts come first, all of
        them.
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
        """Tells whether a segment is among the first n by its words and the adapter's word alone, without scores; True
        if these do not count, and the score alone does."""
        if self.independent or self.outlook is None:
            return True
        weight, prior = self.outlook.weights.answers, self.outlook.prior
        logits = {one: prior[one] + weight * odds for one, odds in self.answers.items()}
        return sum(logit >= logits[index] for one, logit in logits.items() if one != index) < n

    def _logits(self) -> np.ndarray:
        """Returns the logit of each segment, as a vector."""
        indices, scores = list(self.scores), np.array(list(self.scores.values()))
        if self.outlook is None:
            logits = np.zeros(self.n_segments)
            logits[indices] = scores
            return logits
        weights, logits = self.outlook.weights, np.array(self.outlook.prior)
        logits[self.known] += weights.known
        logits[indices] += weights.nats * scores
        told = list(self.answers)
        logits[told] += weights.answers * np.array([self.answers[index] for index in told])
        return logits
