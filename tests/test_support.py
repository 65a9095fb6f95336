"""Support is a probability of absolute evidence."""

import pytest

from wim_edge.support import Evidence, SupportWeights


def test_support_is_a_probability_of_absolute_evidence() -> None:
    weights = SupportWeights(bias=-1, likelihood=0.1, answers=1, run=0.5, missing=-2)
    low = weights.support(Evidence(0, -4, -5, 1))
    high = weights.support(Evidence(30, 4, -0.1, 0))
    assert 0 < low < 0.1 < 0.9 < high < 1


def test_weights_are_all_named_or_none_is() -> None:
    assert SupportWeights.from_mapping({}) == SupportWeights()
    given = {"bias": 1, "likelihood": 0.5, "answers": 0, "run": 2.0, "missing": -1}
    assert SupportWeights.from_mapping(given) == SupportWeights(1.0, 0.5, 0.0, 2.0, -1.0)
    for wrong in ({"bias": 1}, {**given, "colour": 1}, {**given, "run": "2"}, {**given, "run": None}):
        with pytest.raises(ValueError, match=r"support takes .*bias, likelihood, missing, run, each a number"):
            SupportWeights.from_mapping(wrong)


def test_evidence_without_end_is_still_a_probability() -> None:
    weights = SupportWeights(0.0, 1.0, 1.0, 1.0, -1.0)
    assert weights.support(Evidence()) == 0.5
    assert 0 < weights.support(Evidence(likelihood=-1e300)) < 1e-9
    assert 1 - 1e-9 < weights.support(Evidence(answers=1e300)) < 1
