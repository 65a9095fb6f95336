"""Decoding to whole characters and stop texts; a value that is begun is written as it stands in the text."""

from __future__ import annotations

import numpy as np
import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.generate import Generation, Grounding
from wim_edge.testing import FakeModel


def generate(
    says: str, max_tokens: int = 50, stops: tuple[str, ...] = (), refusal: str = "", *, straight: bool = False
) -> tuple[Generation, list[str]]:
    model = FakeModel(lambda prompt: says)
    sequence = model.context(500).sequence()
    sequence.append(model.tokenize("<|im_start|>assistant\n", special=True))
    generation = Generation(model, sequence, Sampler(), max_tokens, stops, refusal, straight=straight)
    return generation, list(generation.pieces())


def test_to_the_end_of_the_turn() -> None:
    generation, pieces = generate("one two")
    assert "".join(pieces) == generation.text == "one two"
    assert (generation.finish_reason, generation.n_tokens) == ("stop", 4)


def test_cut_at_the_longest() -> None:
    generation, _ = generate("one two three", max_tokens=3)
    assert (generation.text, generation.finish_reason, generation.n_tokens) == ("one two", "length", 3)


def test_a_model_that_repeats_itself_is_stopped() -> None:
    generation, _ = generate("It is so. " * 100, max_tokens=500)
    assert (generation.text, generation.finish_reason) == ("It is so.", "repeated")
    assert generation.n_tokens < 40
    assert generate("one two three " * 2, max_tokens=500)[0].finish_reason == "stop"
    straight, _ = generate("It is so. " * 100, max_tokens=500, straight=True)  # a completion is as it comes
    assert (straight.text.count("It is so."), straight.finish_reason) == (4, "repeated")


@pytest.mark.parametrize("says", ["one\n\ntwo", "one\nQuestion: two"])
def test_stop_texts_never_show(says: str) -> None:
    generation, pieces = generate(says, stops=("\n\n", "\nQuestion:"))
    assert "".join(pieces) == "one"
    assert generation.finish_reason == "stop"


@pytest.mark.parametrize("says", ["one\nQuest two", "one\nQuest"])
def test_what_only_looks_like_a_stop_text_is_kept(says: str) -> None:
    assert generate(says, stops=("\nQuestion:",))[0].text == says


@pytest.mark.parametrize(
    ("says", "text"),
    [("Not relevant, because it tells of walls", ""), ("not relevant", ""), ("nothing here", "nothing here"),
     ("not really", "not really"), ("no", "no")],
)  # fmt: skip
def test_what_opens_as_not_relevant_ends_there(says: str, text: str) -> None:
    generation, pieces = generate(says, refusal="not relevant")
    assert "".join(pieces) == generation.text == text
    if not text:
        assert (generation.n_tokens, generation.finish_reason) == (3, "stop")


def test_bytes_of_a_character_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = {"x": b"\xc3", "y": b"\xa9"}
    model = FakeModel(lambda prompt: "x.y")
    monkeypatch.setattr(model, "piece", lambda token: halves.get(model._texts[token], b""))
    sequence = model.context(500).sequence()
    sequence.append(model.tokenize("<|im_start|>assistant\n", special=True))
    assert list(Generation(model, sequence, Sampler(), 10).pieces()) == ["é"]


TEXT = (
    "Order KX-4471-93 of 12 May costs 5,250 crowns, 12 of them at once, by 10:30. Write to info@mill.example. "
    "Its rent is £1,185.00."
)


def next_texts(written: str, wishes: list[str], drawn: int = 0) -> list[str]:
    """What may follow, of these tokens: the model likes the first one best, and token ``drawn`` is drawn."""
    model, seen = FakeModel(), []
    model.tokenize(TEXT)
    tokens = [token for wish in wishes for token in model.tokenize(wish)]
    logits = np.full(model.info.n_vocab, -50.0, np.float32)
    for rank, token in enumerate(tokens):
        logits[token] = -float(rank)
    Grounding(model, [TEXT]).chosen(written, logits, lambda given: seen.append(given) or tokens[drawn])
    return [model.text([token]) for token in tokens if np.isfinite(seen[-1][token])]


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


def test_a_token_that_is_drawn_is_held_though_the_likeliest_fits() -> None:
    assert next_texts("(KX-4471-", ["93", "88"], drawn=1) == ["93"]


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
    assert grounding.chosen("a" * 200_000 + " x", np.zeros(model.info.n_vocab, np.float32), Sampler()) >= 0
