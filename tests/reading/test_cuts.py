"""No text that a model writes repeats itself or the prompt: properties, and a table of cuts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from tests.reading.test_generate import generate
from wim_edge.evaluation.metrics import has_loop
from wim_edge.reading.cuts import LABELS, RUN, Cuts, Echoes, Repeats, labels_apart_from

# Few words, and white space, numbering and punctuation around them: runs come twice often
WORDS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "So", "so", "it", "is,", "is", "(then", "1.", "-", "...", "Note:", "é"]),
              st.sampled_from([" ", " ", " ", "\n", "  ", "\n- ", "\n2. ", ". "])), max_size=60,
).map(lambda pairs: "".join(word + space for word, space in pairs))  # fmt: skip
PERIODS = st.builds(lambda words, n: " ".join([*words] * n), st.lists(st.sampled_from("abcdefgh"), max_size=12),
                    st.integers(1, 9))  # fmt: skip
TEXTS = st.one_of(WORDS, PERIODS, st.builds(lambda a, b, c: a + b + c + b, WORDS, PERIODS, WORDS))


def runs(text: str) -> list[tuple[str, ...]]:
    words = text.casefold().split()
    return [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]


def in_pieces(cut: Cuts | Repeats | Echoes, text: str, sizes: list[int]) -> list[str]:
    out, at, n = [], 0, 0
    while at < len(text):
        size = sizes[n % len(sizes)]
        out.append(cut.feed(text[at : at + size]))
        at, n = at + size, n + 1
    return [*out, cut.feed("", last=True)]


@settings(max_examples=150)
@given(TEXTS, st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_no_run_of_eight_words_comes_twice(text: str, sizes: list[int]) -> None:
    cut = Repeats()
    out = "".join(in_pieces(cut, text, sizes))
    assert len(set(runs(out))) == len(runs(out))
    assert not has_loop(out)
    assert text.startswith(out)
    if cut.ended:
        assert out == out.rstrip()
        assert out or not text.strip()
    else:
        assert out == text


@settings(max_examples=80)
@given(TEXTS, st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_the_cut_is_the_same_however_the_text_comes(text: str, sizes: list[int]) -> None:
    assert "".join(in_pieces(Cuts(), text, sizes)) == Cuts().feed(text, last=True)


@settings(max_examples=60)
@given(TEXTS)
def test_what_streams_is_the_whole_text(text: str) -> None:
    generation, pieces = generate(text, max_tokens=400)
    assert "".join(pieces) == generation.text
    assert not has_loop(generation.text)
    assert not any(re.search(rf"(?im)^\s*{re.escape(label)}", generation.text) for label in LABELS)
    straight, pieces = generate(text, max_tokens=400, straight=True)
    assert "".join(pieces) == straight.text
    assert straight.finish_reason in ("stop", "length", "repeated")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The port opens at six. The port opens at six. The port opens at six.", "The port opens at six."),
        ("1. It is open all day.\n2. It is open all day.\n3. It is open all day.\n4. It is open all day.",
         "1. It is open all day.\n2. It is open all day.\n3. It is open all day.\n4. It is open all day."),
        ("1. It is open all day and all night.\n2. It is open all day and all night.",
         "1. It is open all day and all night."),
        ("one two three " * 2, "one two three " * 2),
        ("one two three " * 3, "one two three"),
        ("555-0102, 555-0103, 555-0103, 555-0103", "555-0102, 555-0103,"),
        ("no " * 50, "no"),
        ("a b c d e f g h, (a b c d e f g h", "a b c d e f g h,"),
    ],
)  # fmt: skip
def test_where_a_repeat_is_cut(text: str, shown: str) -> None:
    assert "".join(in_pieces(Repeats(), text, [3])) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Blue.\nQuestion: Which colour?", "Blue."),
        ("Blue.\n\n  the text says (page 3): blue", "Blue."),
        ("It is for software. Question: What is the GPL for?", "It is for software."),
        ("Blue. Note: it fades.", "Blue. Note: it fades."),
        ("Blue.\nNotes are kept.", "Blue.\nNotes are kept."),
        ("Answer: blue", "blue"),
        ("The text says (page 3): the sea is blue.", "the sea is blue."),
        ("Question: Which colour?\nAnswer: blue", "blue"),
        ("Question: Which colour?", ""),
        ("Note", "Note"),
        ("Blue.\nQuest", "Blue.\nQuest"),
        ("Document: Answer: Note: blue\nNote:", "blue"),
    ],
)
def test_echoes_of_the_prompt_are_cut(text: str, shown: str) -> None:
    for size in (1, 4, 100):
        assert "".join(in_pieces(Echoes(), text, [size])) == shown


def test_what_stands_in_the_document_is_no_echo() -> None:
    labels = labels_apart_from(["NOTE: The pump is off.", "The answer: yes"])
    assert labels == ("Question:", "The text says", "Document:")
    assert Echoes(labels=labels).feed("Off.\nNote: wait\nQuestion: why", last=True) == "Off.\nNote: wait"
