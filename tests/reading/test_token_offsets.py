"""Where tokens and sentences begin in characters, with tokens that are parts of them or say something else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge.reading.token_offsets import beginnings, char_offsets


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
