from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import example, given, settings, strategies as st

from wim_edge.documents import split
from wim_edge.errors import InvalidRequestError

Tokenizer = Callable[[str], Sequence[int]]
PIECE = re.compile(r" ?\w{1,5}|\s+|[^\w\s]")


def by_character(text: str) -> list[int]:
    return [ord(character) for character in text]


def by_word(text: str) -> list[int]:
    return [len(word) for word in text.split()]


def by_byte(text: str) -> list[int]:
    return list(text.encode())


def by_piece(text: str) -> list[int]:
    """Greedy merges, as byte-pair encodings have: a cut inside a word can cost a token more."""
    return [len(piece) for piece in PIECE.findall(text)]


def jagged(text: str) -> list[int]:
    """Not monotone: one character more may take two tokens fewer."""
    return [0] * (len(text) // 2 + len(text) % 3)


TOKENIZERS: list[Tokenizer] = [by_character, by_word, by_byte, by_piece, jagged]
ALPHABET = st.sampled_from([*"ab.!? \n\t\"'”…。！日é🙂", "e\u0301", "👩\u200d🔬", "word", "A sentence. ", "\n\n"])
TEXTS = st.lists(ALPHABET, max_size=300).map("".join) | st.text(max_size=300)


@pytest.mark.parametrize("tokenize", TOKENIZERS)
@settings(max_examples=60)
@given(text=TEXTS, budget=st.integers(4, 60))
@example(text="", budget=4)
@example(text="\n" * 200, budget=4)
@example(text="x" * 1000, budget=7)
def test_nothing_is_lost_and_nothing_exceeds(tokenize: Tokenizer, text: str, budget: int) -> None:
    segments = split(text, budget, tokenize, document=3)
    assert "".join(segment.text for segment in segments) == text
    at = 0
    for segment in segments:
        assert segment.document == 3
        assert segment.text
        assert segment.start == at
        assert text[segment.start : segment.end] == segment.text
        assert segment.tokens == tuple(tokenize(segment.text))
        assert len(segment.tokens) <= budget
        at = segment.end
    assert at == len(text)


def texts(text: str, budget: int, tokenize: Tokenizer = by_character) -> list[str]:
    return [segment.text for segment in split(text, budget, tokenize)]


@pytest.mark.parametrize(("text", "budget", "segments"), [
    # A paragraph's end goes first, if the segment is then half full
    ("One two. Three.\n\nFour five. Six seven.", 30, ["One two. Three.\n\n", "Four five. Six seven."]),
    ("One.\n\nTwo three four. Five six seven eight.", 30, ["One.\n\nTwo three four. ", "Five six seven eight."]),
    # Then a sentence's end
    ("He said “no way!” Then he left, 3.14 times over.", 30, ["He said “no way!” ", "Then he left, 3.14 times over."]),
    ("first line\nsecond line that runs on", 20, ["first line\n", "second line that ", "runs on"]),
    ("一二三四五。六七八九十", 8, ["一二三四五。", "六七八九十"]),
    # Then white space, which stays before the break
    ("aaaa bbbb   cccc dddd", 14, ["aaaa bbbb   ", "cccc dddd"]), ("a bbbbbbbbb", 9, ["a ", "bbbbbbbbb"]),
    # Then anywhere but inside a character, unless there is no other way
    ("x" * 25, 10, ["x" * 9, "x" * 9, "x" * 7]), ("abcde\u0301fgh", 5, ["abcd", "e\u0301fgh"]),
    ("abc👩\u200d🔬d", 5, ["abc", "👩\u200d🔬d"]), ("e" + "\u0301" * 9, 5, ["e" + "\u0301" * 4, "\u0301" * 5]),
    # Leading blanks are no segment of their own, and a whole text that fits is one
    ("\n\n\n" + "x" * 20, 10, ["\n\n\nxxxxxx", "x" * 9, "x" * 5]),
    ("One.\n\nTwo.\n\nThree.", 100, ["One.\n\nTwo.\n\nThree."]), ("", 5, []),
])  # fmt: skip
def test_a_segment_ends_at_the_best_break(text: str, budget: int, segments: list[str]) -> None:
    assert texts(text, budget) == segments


def test_a_sentence_above_the_budget_is_split_and_kept_and_blanks_without_tokens_are_one_segment() -> None:
    assert texts("   ", 1, by_word) == ["   "]
    sentence = "word " * 500 + "end."
    pieces = texts(sentence, 64, by_piece)
    assert "".join(pieces) == sentence
    assert all(piece.endswith(" ") for piece in pieces[:-1])


def test_impossible_budgets() -> None:
    with pytest.raises(InvalidRequestError, match="one character"):
        split("abc日", 2, by_byte)
    with pytest.raises(InvalidRequestError, match="0 tokens"):
        split("abc", 0, by_byte)


@cache
def prose(characters: int, seed: int = 1) -> str:
    chance = random.Random(seed)
    words = ["of", "reading", "margin", "the", "extraordinarily", "segment", "42", "naïve", "a", "日本語"]
    parts: list[str] = []
    while sum(map(len, parts[-1:])) + 60 * len(parts) < characters:
        sentences = [
            " ".join(chance.choices(words, k=chance.randint(3, 30))).capitalize() + "."
            for _ in range(chance.randint(1, 9))
        ]
        parts.append(" ".join(sentences))
    text = "\n\n".join(parts)
    while len(text) < characters:
        text += "\n\n" + text
    return text[:characters]


@pytest.mark.parametrize("budget", [64, 1024, 4096])
@pytest.mark.parametrize("tokenize", [by_character, by_word, by_byte, by_piece])
@pytest.mark.parametrize("kind", ["prose", "one word", "two densities", "lines"])
def test_the_tokenizer_sees_each_character_a_few_times(budget: int, tokenize: Tokenizer, kind: str) -> None:
    text = {
        "prose": lambda: prose(100_000),
        "one word": lambda: "x" * 100_000,
        "two densities": lambda: prose(50_000) + "日" * 50_000,
        "lines": lambda: "a\n" * 50_000,
    }[kind]()
    seen = 0

    def counted(piece: str) -> Sequence[int]:
        nonlocal seen
        seen += len(piece)
        return tokenize(piece)

    segments = split(text, budget, counted)
    assert "".join(segment.text for segment in segments) == text
    assert seen < (2 if kind == "prose" else 5) * len(text)


def test_white_space_without_end_is_quick() -> None:
    began = time.process_time()
    for text in ("\n" * 400_000, " " * 400_000 + "x", "." * 400_000, "\u0301" * 400_000):
        split(text, 4096, by_character)
    assert time.process_time() - began < 5


def test_a_row_is_cut_only_where_it_is_longer_than_a_segment() -> None:
    rows = [f"Row {n}. First | the second cell. It has two sentences | {n}" for n in range(12)]
    text = "Before.\n\n" + "\n".join(rows) + "\n\nAfter that. More."
    for budget in (70, 100, 160):
        cut = split(text, budget, list)
        assert "".join(segment.text for segment in cut) == text
        assert all(segment.text.endswith("\n") or segment.text.endswith("More.") for segment in cut)
    assert len(split(rows[0], 20, list)) > 2
