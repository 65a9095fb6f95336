"""Sentences that say no."""

from __future__ import annotations

import pytest

from wim_edge.wim.negation import negates


@pytest.mark.parametrize(
    ("question", "sentence", "run", "does"),
    [
        ("Am I allowed to have a dog?", "Not to keep dogs, reptiles or birds.", "birds", True),
        ("Can I take my car?", "Bicycles are free; cars are not carried.", "cars", True),
        ("Are bicycles taken?", "Bicycles are free; cars are not carried.", "Bicycles", False),
        ("Are dogs allowed?", "Dogs are allowed, but not in the kitchen.", "Dogs", False),
        ("Are dogs not allowed?", "Dogs are not allowed.", "Dogs", False),
        ("Is the pool open?", "The pool is open from May on.", "open", False),
        ("Darf ich rauchen?", "Rauchen ist im Treppenhaus verboten.", "Treppenhaus", True),
        ("Can he come?", "He can’t come.", "He", True),
        ("Is it shut on Friday?", "| Fri | training, shut | | nobody! |", "training", False),
    ],
)
def test_what_is_negated(question: str, sentence: str, run: str, does: bool) -> None:
    at = sentence.index(run)
    assert negates(question, sentence, at, at + len(run)) is does
