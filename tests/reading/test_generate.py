"""Decoding to whole characters, stop texts, and the verdict's tokens."""

from __future__ import annotations

import pytest

from wim_edge.engine.sampling import Sampler
from wim_edge.reading.generate import Generation
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
