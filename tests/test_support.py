"""Support is a probability of absolute evidence."""

from __future__ import annotations

import pytest

from wim_edge.support import Evidence, SupportWeights


def test_support_is_a_probability_of_absolute_evidence() -> None:
    weights = SupportWeights(bias=-1, likelihood=0.1, answers=1, run=0.5, missing=-2)
    low = weights.support(Evidence(0, -4, -5, 1))
    high = weights.support(Evidence(30, 4, -0.1, 0))
    assert 0 < low < 0.1 < 0.9 < high < 1
    assert SupportWeights.from_mapping({}) == SupportWeights()
    with pytest.raises(ValueError, match="support takes"):
        SupportWeights.from_mapping({"bias": 1})
