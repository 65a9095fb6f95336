"""Grounded decoding: a value that is begun is written as it stands in the text."""

from __future__ import annotations

import numpy as np
import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.reading.grounding import Grounding
from wim_edge.testing import FakeModel

TEXT = (
    "Order KX-4471-93 of 12 May costs 5,250 crowns, 12 of them at once, by 10:30. Write to info@mill.example. "
    "Its rent is £1,185.00."
)


def next_texts(written: str, wishes: list[str], text: str = TEXT) -> list[str]:
    """What may follow, of these tokens: the model likes the first one best."""
    model = FakeModel()
    model.tokenize(text)
    tokens = [token for wish in wishes for token in model.tokenize(wish)]
    logits = np.full(model.info.n_vocab, -50.0, np.float32)
    for rank, token in enumerate(tokens):
        logits[token] = -float(rank)
    held = Grounding(model, [text]).held(written, logits)
    return [model.text([token]) for token in tokens if np.isfinite(held[token])]


@pytest.mark.parametrize(
    ("written", "wishes", "allowed"),
    [
        ("(KX-4471-", ["88", "93"], ["93"]),
        ("(KX-4471-", ["93", "88"], ["93", "88"]),  # what it wishes is right
        ("KX-4471", [" ", "0"], [" ", "0"]),  # it may end, whatever it then is
        ("KX-4", ["9", "471"], ["471"]),
        ("It costs ", ["77", "5"], ["5"]),  # from its first character on
        ("On 12", ["0", " "], [" "]),
        ("12 May. 3", ["0", "."], ["0", "."]),  # nothing is left to say: it is reported
        ("\n", ["3"], ["3"]),  # the number of an item
        ("It costs 5,", ["000", "250"], ["250"]),
        ("It costs 77", ["1", " "], ["1", " "]),
        ("at 10:", ["00", "30"], ["30"]),
        ("The order", ["s", " "], ["s", " "]),
        ("It is £", ["77", "1"], ["1"]),  # a sign is not the value's
        ("It is £1", ["7", ","], [","]),
        ("It is £1,", ["250", "185"], ["185"]),
        ("to info@mill", ["stone", "."], ["."]),
    ],
)
def test_what_may_follow(written: str, wishes: list[str], allowed: list[str]) -> None:
    assert next_texts(written, wishes) == allowed


def test_whatever_is_held_leaves_something_to_say() -> None:
    model = FakeModel()
    logits = np.zeros(model.info.n_vocab, np.float32)
    for end in range(len(TEXT)):
        assert np.isfinite(Grounding(model, [TEXT]).held(TEXT[:end], logits)).any()


def test_an_answer_has_the_value_of_its_passage() -> None:
    def reply(prompt: str) -> str:
        return "It is order KX-4471-88." if "Answer with a few words" not in prompt else "KX-4471-93"

    settings = Settings(pattern="wim-shallow", save=False)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        answer = runtime.ask(Document("mill.txt", TEXT), "Which order is it?")
    assert "It is order KX-4471-93" in answer.text
    assert answer.unsupported == ()


def test_long_words_take_no_time() -> None:
    model = FakeModel()
    grounding = Grounding(model, ["a" * 200_000, "-" * 200_000, "1" * 200_000])
    logits = np.zeros(model.info.n_vocab, np.float32)
    assert np.isfinite(grounding.held("a" * 200_000 + " x", logits)).any()
