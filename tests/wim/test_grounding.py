"""Grounded decoding: a value that is begun is written as it stands in the text."""

from __future__ import annotations

import numpy as np
import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.testing import FakeModel
from wim_edge.wim.grounding import Grounding

TEXT = "Order KX-4471-9 of 12 May costs 5,250 crowns, 12 of them at once. Write to info@mill.example."


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
        ("It costs 5,", ["000", "250"], ["250"]),
        ("It costs ", ["7", "5"], ["7", "5"]),  # nothing is begun
        ("It costs 77", ["1", " "], ["1", " "]),  # a value that stands nowhere: it is told as unsupported
        ("(KX-", ["9", "4471"], ["4471"]),
        ("KX-4471", ["-", " "], ["-"]),
        ("of 12", [" ", "5", "."], [" ", "5", "."]),  # ended, and no longer value begins so
        ("The order", ["s", " "], ["s", " "]),
        ("info", ["rmation", "@"], ["rmation", "@"]),  # a word of its own
        ("info@", ["mill", "x"], ["mill"]),
        ("info@mill", [".", "-"], ["."]),
    ],
)
def test_what_may_follow(written: str, wishes: list[str], allowed: list[str]) -> None:
    assert next_texts(written, wishes) == allowed


def test_a_word_of_the_text_is_no_beginning_of_a_value() -> None:
    assert next_texts("the mill", ["s", "."], "The mill is mill-4 of the river.") == ["s", "."]


def test_whatever_is_held_leaves_something_to_say() -> None:
    model = FakeModel()
    logits = np.zeros(model.info.n_vocab, np.float32)
    for end in range(len(TEXT)):
        assert np.isfinite(Grounding(model, [TEXT]).held(TEXT[:end], logits)).any()


def test_an_answer_has_the_value_of_its_passage() -> None:
    def reply(prompt: str) -> str:
        return "It costs 5,000 crowns." if "Answer with a few words" not in prompt else "5,250 crowns"

    settings = Settings(pattern="wim-shallow", save=False)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        answer = runtime.ask(Document("mill.txt", TEXT), "What does the order cost?")
    assert answer.text.startswith("It costs 5,250")
    assert answer.unsupported == ()
