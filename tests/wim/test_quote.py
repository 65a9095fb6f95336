"""Verbatim margins: whatever the model wants to say, it quotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents import split
from wim_edge.testing import FakeModel
from wim_edge.wim.quote import quote

STORY = (
    "The mill stood by the river. Nobody had worked in it for years.\n\n"
    "Dr. A. Brandt bought it in 1921. She paid 4,000 crowns for the mill.\n"
)


def place(model: FakeModel, text: str, max_tokens: int = 64) -> slice:
    (segment,) = split(text, 10_000, model.tokenize)
    context = model.context(10_000)
    with context.sequence() as sequence:
        sequence.append([*segment.tokens, *model.tokenize("<|im_start|>assistant\n", special=True)])
        before = list(sequence.tokens)
        found = quote(model, context, sequence, segment, max_tokens)
        assert sequence.tokens == before
        assert list(context.live.values()) == [sequence]
    return slice(found.start, found.end)


def pointed(model: FakeModel, text: str, max_tokens: int = 64) -> str:
    return text[place(model, text, max_tokens)]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ("The mill stood", "The mill stood by the river."),
        ("She said it was cheap", "She paid 4,000 crowns for the mill."),
        ("Dr. Brandt", "Dr. A. Brandt bought it in 1921."),
        ("Nobody", "Nobody had worked in it for years."),
    ],
)
def test_the_model_points_and_the_sentence_is_taken(wish: str, sentence: str) -> None:
    assert pointed(FakeModel(lambda prompt: wish), STORY) == sentence


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1).filter(lambda text: text.strip()), st.text(max_size=12), st.integers(1, 20))
def test_whatever_it_says_it_quotes(text: str, wish: str, longest: int) -> None:
    model = FakeModel(lambda prompt: wish)
    found = pointed(model, text, longest)
    assert found
    assert found in text


def test_a_sentence_too_long_is_cut_from_where_the_model_points() -> None:
    text = "alpha " * 30 + "the treasure lies here " + "omega " * 30
    model = FakeModel(lambda prompt: "the treasure lies")
    assert pointed(model, text, 8) == "the treasure lies here"


def test_a_table_is_cut_between_its_clauses() -> None:
    text = '{"one": "first value", "two": "second value", "three": "third value", "four": "fourth value"}'
    model = FakeModel(lambda prompt: '"two')
    assert pointed(model, text, 20) == '"two": "second value",'


def test_the_same_words_twice_end_in_the_first_place() -> None:
    again = "Again it rains on the old stone bridge and on the mill."
    model = FakeModel(lambda prompt: again)
    assert place(model, f"It rains. {again} {again}") == slice(10, 10 + len(again))


@pytest.fixture(scope="module", params=["smollm2", "gemma3", "llama"])
def reader(request: pytest.FixtureRequest, model_file: Callable[[str], Path]) -> Iterator[Runtime]:
    chosen = Settings(model=str(model_file(request.param)), pattern="wim-shallow", relevance="verdict",
                      segment_tokens=64, answer_tokens=2, save=False)  # fmt: skip
    with Runtime(chosen) as runtime:
        yield runtime


@pytest.mark.real
@pytest.mark.parametrize(
    "text",
    ["The lion sat on the mat 😀", "a 😀", "日本", "x é", " \n \n x", "Wo ist der Löwe? Er ist in Zürich 日",
     "Load over time ▁▁▁▁▂▁▁▁▁. Anna painted the fence green. The lion lives in Lindau. Bruno sold his boat."],
)  # fmt: skip
def test_quotations_of_odd_characters_stay_in_their_segment(reader: Runtime, text: str) -> None:
    found = list(reader.stream(Document("d", text), "Where is the lion?"))
    margins = [event for event in found if isinstance(event, events.MarginJudged)]
    assert margins
    for margin in margins:
        assert margin.quote is not None
        assert margin.chars[0] <= margin.quote[0] < margin.quote[1] <= margin.chars[1]
        assert text[slice(*margin.quote)] == margin.text == margin.text.strip() != ""


@pytest.mark.real
@pytest.mark.parametrize(
    ("which", "pattern"),
    [("smollm2", "wim"), ("smollm2", "wim-focus"), ("smollm2", "wim-shallow"), ("gemma3", "wim"),
     ("gemma3", "wim-shallow")],
)  # fmt: skip
def test_margins_of_real_models_stand_at_their_offsets(
    which: str, pattern: str, model_file: Callable[[str], Path], long_text: str
) -> None:
    text = "Ünïcödé 🦉 — “quotes”. " + long_text[:800]
    chosen = Settings(
        model=str(model_file(which)), pattern=pattern, segment_tokens=100, answer_tokens=8, max_passages=8,
        relevance_threshold=0.0,
    )  # fmt: skip
    with Runtime(chosen) as runtime:
        found = list(runtime.stream(Document("d", text), "What may you do with the program?"))
    margins = [event for event in found if type(event) is events.MarginJudged]
    assert margins
    for margin in margins:
        assert margin.quote is not None
        assert text[slice(*margin.quote)] == margin.text
        assert margin.chars[0] <= margin.quote[0] < margin.quote[1] <= margin.chars[1]
