"""Common words extraction (RULER, Hsieh et al. 2024, section 4): the ten most frequent words of a long list.

Writing in the Margins uses the task to test aggregation. The words are made of random syllables: before the list is
read all words are equally likely, and the package needs no list of words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example
from wim_edge.evaluation.metrics import string_match_all, words_f1
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks.task import GENERATED, Task, TaskOptions

N_COMMON = 10
FREQUENCIES = ((30, 3), (6, 1), (3, 1))
"""Pairs (occurrences of a common word, of another word): RULER's, RULER's below 4,096 tokens, ours for short lists."""
_N_OTHER = N_COMMON
"""The minimum number of distinct other words in a list. If they do not fit, the next pair of `FREQUENCIES` applies."""
QUESTION = f"What are the {N_COMMON} most common words in the list? Answer with these {N_COMMON} words alone."


def build(options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
    """Builds ``options.limit`` lists (default: 50) of each length in ``options.length`` (in tokens; default: 4,000)."""
    n = GENERATED if options.limit is None else options.limit
    lengths = tuple(dict.fromkeys(options.length)) or (4000,)
    return [_example(index, length, options.seed, count_tokens) for index in range(n) for length in lengths]


def _example(index: int, length: int, seed: int, count_tokens: CountTokens) -> Example:
    common, text, facts = word_list(length, count_tokens, f"{seed} cwe {index} {length}")
    document = Document("words.txt", text)
    return Example(f"cwe-{index}@{length}", f"cwe-{index}", (document,), QUESTION, common, x=length, facts=facts)


def word_list(length: int, count_tokens: CountTokens, seed: str) -> tuple[tuple[str, ...], str, dict[str, int]]:
    """Returns (common words, numbered list of at most ``length`` tokens, {name: number that describes the list}).

    Raises InvalidRequestError if the list is too long even with the smallest frequencies.
    """
    for frequent, rare in FREQUENCIES:
        n_other = _most(_N_OTHER, lambda n: count_tokens(_render(n, frequent, rare, seed)[1]) <= length)  # noqa: B023
        if n_other is not None:
            common, text = _render(n_other, frequent, rare, seed)
            facts = {"frequency_common": frequent, "frequency_other": rare, "other_words": n_other}
            return common, text, {**facts, "tokens": count_tokens(text)}
    raise InvalidRequestError(f"no list of {N_COMMON} common words fits {length} tokens", "Ask for a larger --length.")


def _render(n_other: int, frequent: int, rare: int, seed: str) -> tuple[tuple[str, ...], str]:
    rng = random.Random(seed)
    words = made_up_words(rng)
    common = tuple(next(words) for _ in range(N_COMMON))
    listed = list(common) * frequent + [next(words) for _ in range(n_other)] * rare
    rng.shuffle(listed)
    return common, " ".join(f"{number}. {word}" for number, word in enumerate(listed, 1))


def made_up_words(rng: random.Random) -> Iterator[str]:
    """Yields pronounceable words of two or three open syllables, without repeats and without end."""
    seen: set[str] = set()
    while True:
        syllables = (rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.choice((2, 3, 3))))
        word = "".join(syllables)
        if word not in seen:
            seen.add(word)
            yield word


def _most(least: int, fits: Callable[[int], bool]) -> int | None:
    """Returns the largest n for which ``fits(n)`` is True, by bisection; None if ``fits(least)`` is False."""
    if not fits(least):
        return None
    high = least * 2
    while fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _score(example: Example, reply: Reply | None) -> dict[str, float]:
    text = reply.text if reply else ""
    return {"accuracy": string_match_all(text, example.answers), "f1": words_f1(text, example.answers)}


TASK = Task("cwe", "Hsieh et al. 2024, RULER, section 4; Writing in the Margins, section 4",
            "f1", "length", ("length",), (), build, _score)  # fmt: skip
