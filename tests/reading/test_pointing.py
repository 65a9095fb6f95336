"""Pointing: whatever the model wants to say, it is a run of the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents import split
from wim_edge.reading.pointing import Pointed, Pointer, beginnings, char_offsets
from wim_edge.testing import FakeModel

STORY = (
    "The mill stood by the river. Nobody had worked in it for years.\n\n"
    "Dr. A. Brandt bought it in 1921. She paid 4,000 crowns for the mill.\n"
)


def point(model: FakeModel, text: str, **more: Any) -> Pointed:
    (segment,) = split(text, 10_000, model.tokenize)
    context = model.context(100_000)
    with context.sequence() as sequence:
        sequence.append([*segment.tokens, *model.tokenize("<|im_start|>assistant\n", special=True)])
        before = list(sequence.tokens)
        found = Pointer(model, context).point(sequence, segment, **more)
        assert sequence.tokens == before
        assert list(context.live.values()) == [sequence]
    return found


def best(model: FakeModel, text: str) -> str:
    run = point(model, text).runs[0]
    return text[run.start : run.end]


@pytest.mark.parametrize("wish", ["The mill", "Dr. A. Brandt", "river", "1921", " 1921", "4,000 crowns", " 4,000"])
def test_the_model_points_at_a_run_of_the_text(wish: str) -> None:
    """Also where a space is a token of its own, as before a digit."""
    assert best(FakeModel(lambda prompt: wish), STORY) == wish.strip()


def test_a_run_ends_where_the_model_ends_the_line() -> None:
    assert best(FakeModel(lambda prompt: "4,000 crowns\nQuestion:"), STORY) == "4,000 crowns"


def test_a_run_that_goes_another_way_than_the_model_stays_in_the_text() -> None:
    found = best(FakeModel(lambda prompt: "She paid 5,000 francs"), STORY)
    assert found in STORY
    assert found.startswith("She")


def test_no_run_begins_or_ends_inside_a_word() -> None:
    text = "Abnormal norms of Normandy."
    for run in point(FakeModel(lambda prompt: "norm"), text).runs:
        assert re.fullmatch(r"\W*(?:\b\w.*\w\b)?\W*", text[run.start : run.end])
        assert not (run.start and text[run.start - 1].isalnum() and text[run.start].isalnum())
        assert not (run.end < len(text) and text[run.end - 1].isalnum() and text[run.end].isalnum())


def test_what_is_to_be_avoided_is_not_pointed_at() -> None:
    text = "Subject\n\nThe subject of this contract is the care of the garden."
    avoided = point(FakeModel(lambda prompt: "Subject"), text, avoid=[(0, 7)])
    assert all(run.start >= 7 for run in avoided.runs)


def test_texts_are_rated_as_answers_with_their_end() -> None:
    model = FakeModel(lambda prompt: "4,000 crowns")
    context = model.context(10_000)
    with context.sequence() as sequence:
        sequence.append(model.tokenize(f"{STORY}<|im_start|>assistant\n", special=True))
        before = list(sequence.tokens)
        rated = Pointer(model, context).rate(sequence, ["1921", "4,000 crowns", "4,000", "the river", "Dr.", "mill"])
        assert list(sequence.tokens) == before
    assert len(rated) == 6
    assert max(rated) == rated[1] <= 0


def test_where_the_words_of_the_question_are_a_run_is_preferred() -> None:
    text = "Ada came in 1921. Ben came in 1922."
    model = FakeModel(lambda prompt: "1921")
    assert best(model, text) == "1921"
    assert point(model, text, asked=[(0, 18, 100.0), (18, len(text), 0.0)]).runs[0].start >= 18


def test_no_run_goes_over_two_rows_of_a_table() -> None:
    text = "Saw\t12 kg\tHart\nDrill\t3 kg\tLind\n"
    assert best(FakeModel(lambda prompt: "Hart\nDrill"), text) in ("Hart", "Drill")


def test_nothing_is_pointed_at_where_no_word_is() -> None:
    assert point(FakeModel(lambda prompt: "x"), " \n \n ").runs == ()


def test_a_word_that_an_adapter_says_instead_of_pointing_is_no_run() -> None:
    text = "All songs, none of them long: Tim, Fifteen and No."
    model = FakeModel(lambda prompt: "none")
    assert best(model, text) == "none"
    model.has_adapter = True
    assert all(text[run.start : run.end].casefold() not in ("none", "no") for run in point(model, text).runs)


@settings(max_examples=60)
@given(st.text(min_size=1), st.text(max_size=12))
def test_whatever_it_says_a_run_is_text(text: str, wish: str) -> None:
    runs = point(FakeModel(lambda prompt: wish), text).runs
    for run in runs:
        assert 0 <= run.start < run.end <= len(text)
        assert text[run.start : run.end].strip()
    assert [run.logprob for run in runs] == sorted((run.logprob for run in runs), reverse=True)
    assert len({(run.start, run.end) for run in runs}) == len(runs)


ODD = (
    "The lion sat on the mat 😀", "a 😀", "日本", "x é", " \n \n x", "Wo ist der Löwe? Er ist in Zürich 日",
    "Load over time ▁▁▁▁▂▁▁▁▁. Anna painted the fence green. The lion lives in Lindau. Bruno sold his boat.",
)  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("which", ["smollm2", "llama"])
def test_quotations_of_odd_characters_stay_in_their_segment(which: str, model_file: Callable[[str], Path]) -> None:
    chosen = Settings(model=str(model_file(which)), pattern="wim-shallow", relevance="verdict",
                      segment_tokens=64, margin_tokens=8, answer_tokens=2, save=False)  # fmt: skip
    documents = [Document(str(number), text) for number, text in enumerate(ODD)]
    with Runtime(chosen) as runtime:
        found = list(runtime.stream(documents, "Where is the lion?"))
    margins = [event for event in found if isinstance(event, events.MarginJudged)]
    assert {margin.document for margin in margins} == {document.name for document in documents}
    for margin in margins:
        text = ODD[int(margin.document)]
        if margin.quote is None:  # no word to point at
            assert margin.text == ""
            assert not any(char.isalnum() for char in text[slice(*margin.chars)])
            continue
        assert margin.chars[0] <= margin.quote[0] < margin.quote[1] <= margin.chars[1]
        assert text[slice(*margin.quote)] == margin.text == margin.text.strip() != ""


@pytest.mark.real
@pytest.mark.parametrize(
    ("which", "pattern"),
    [("smollm2", "wim"), ("llama", "wim-focus"), ("smollm2", "wim-shallow"), ("gemma3", "wim-shallow")],
)  # fmt: skip
def test_margins_of_real_models_stand_at_their_offsets(
    which: str, pattern: str, model_file: Callable[[str], Path], long_text: str
) -> None:
    text = "Ünïcödé 🦉 — “quotes”. " + long_text[:300]
    chosen = Settings(
        model=str(model_file(which)), judge="self", pattern=pattern, segment_tokens=60, margin_tokens=8,
        answer_tokens=4, max_passages=8, relevance_threshold=0.0,
    )  # fmt: skip
    with Runtime(chosen) as runtime:
        found = list(runtime.stream(Document("d", text), "What may you do with the program?"))
    margins = [event for event in found if type(event) is events.MarginJudged]
    assert margins
    for margin in margins:
        assert text[slice(*margin.quote)] == margin.text
        assert margin.chars[0] <= margin.quote[0] < margin.quote[1] <= margin.chars[1]


def pieces(*parts: bytes) -> Callable[[int], bytes]:
    """What tokens 0, 1, 2, ... stand for."""
    return parts.__getitem__


def offsets(text: str, *parts: bytes) -> tuple[list[int], list[bool]]:
    return char_offsets(pieces(*parts), text, range(len(parts)))


SHIP = "🚢".encode()


@pytest.mark.parametrize(
    ("text", "parts", "chars", "whole"),
    [
        ("ab é!", [b"ab", b" ", "é".encode(), b"!"], [0, 2, 3, 4, 5], [True] * 4),
        # Inside a character a token counts from the next one
        ("a🚢b", [b"a", SHIP[:1], SHIP[1:3], SHIP[3:] + b"b"], [0, 1, 2, 2, 3], [True, True, False, False]),
        ("no way", [b"no", "▁way".encode()], [0, 2, 6], [True, True]),  # SentencePiece's space
        ("a▁b", [b"a", "▁".encode(), b"b"], [0, 1, 2, 3], [True] * 3),  # the text has that character
        ("Ａ－１ ﬃ", [b"A-", b"1", b" f", b"fi"], [0, 2, 3, 5, 5], [True, True, True, False]),  # plain letters
        # The tokenizer changed or dropped something
        ("One two", [b"one", b" two"], [0, 3, 7], [True, True]),
        ("one\x07 two", [b"one", b" two"], [0, 4, 8], [True, True]),
        ("ab", [b"", b"ab", b""], [0, 0, 2, 2], [True, True, False]),  # control tokens
    ],
)
def test_where_tokens_begin(text: str, parts: list[bytes], chars: list[int], whole: list[bool]) -> None:
    assert offsets(text, *parts) == (chars, whole)


@given(st.text(st.sampled_from("ab é🚢\n"), max_size=30), st.randoms(use_true_random=False))
def test_tokens_that_are_the_text_begin_where_they_stand(text: str, random) -> None:  # type: ignore[no-untyped-def]
    data = text.encode()
    cuts = sorted({0, len(data), *(random.randint(0, len(data)) for _ in range(5))})
    parts = [data[start:end] for start, end in pairwise(cuts)]
    chars, whole = offsets(text, *parts)
    assert chars == sorted(chars)
    assert (chars[-1], len(chars)) == (len(text), len(parts) + 1)
    for number, at in enumerate(chars[:-1]):
        assert whole[number] == (data[cuts[number] :].startswith(text[at:].encode()) and at < len(text))


def test_sentences_begin_with_a_token_and_have_an_end() -> None:
    text = "One is here. Two is there.\n"
    parts = [b"One", b" is", b" here", b".", b" ", b"Two", b" is", b" there", b".", b"\n"]
    chars, ends = beginnings(pieces(*parts), text, range(len(parts)), 8)
    assert [text[chars[at] :][:3] for at in ends] == ["One", "Two"]
    assert [text[:end].rstrip()[-6:] for end in ends.values()] == [" here.", "there."]


@pytest.mark.parametrize(("longest", "n"), [(3, 6), (100, 1)])
def test_in_a_sentence_too_long_every_word_is_a_beginning(longest: int, n: int) -> None:
    text = "a, b, c, d, e, f"
    parts = [part for word in "abcdef" for part in (word.encode(), b", ")][:-1]
    _, ends = beginnings(pieces(*parts), text, range(len(parts)), longest)
    words = [at for at in ends if parts[at].isalpha()]
    assert len(words) == n
    assert set(ends.values()) == {len(text)}
