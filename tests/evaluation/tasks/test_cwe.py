"""Common words: how often they come, and what a reply scores."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.evaluation.stub import build, words
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks import TASKS
from wim_edge.evaluation.tasks.cwe import made_up_words


@pytest.mark.parametrize(("length", "frequencies"), [(3000, (30, 3)), (320, (6, 1)), (100, (3, 1))])
def test_cwe_counts(length: int, frequencies: tuple[int, int]) -> None:
    example, other = build("cwe", length=(length,), limit=2)
    text = example.documents[0].text
    assert length - 2 * 3 * frequencies[1] < words(text) == example.facts["tokens"] <= length
    numbers, listed = text.split()[::2], text.split()[1::2]
    assert numbers == [f"{n}." for n in range(1, len(listed) + 1)]
    counts = Counter(listed)
    assert [count for _, count in counts.most_common(10)] == [frequencies[0]] * 10
    assert {word for word, _ in counts.most_common(10)} == set(example.answers)
    assert set(counts.values()) == set(frequencies)
    assert len(counts) == 10 + example.facts["other_words"] >= 20
    assert not set(listed[: 10 * frequencies[0]]) <= set(example.answers)  # shuffled
    assert not set(example.answers) & set(other.answers)
    task = TASKS["cwe"]
    assert task.score(example, Reply(text=", ".join(example.answers), pattern="llm")) == {"accuracy": 1.0, "f1": 1.0}
    half = task.score(example, Reply(text=" ".join(example.answers[:5]), pattern="llm"))
    assert half == {"accuracy": 0.5, "f1": pytest.approx(2 * 5 / 15)}


def test_cwe_too_short_and_words_one_can_say() -> None:
    with pytest.raises(InvalidRequestError, match="fits 60 tokens"):
        build("cwe", length=(60,))
    made = made_up_words(random.Random(1))
    found = [next(made) for _ in range(3000)]
    assert len(set(found)) == 3000
    assert all(len(word) in (4, 6) and set(word[1::2]) <= set("aeiou") for word in found)
