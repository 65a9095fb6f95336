"""Citations: for each sentence of a written answer, the passage that holds most of its words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence as Seq

from wim_edge.documents import sentences
from wim_edge.words import without_endings

_LEAST = 0.5  # of a sentence's words, weighted


def cite(text: str, passages: Seq[str]) -> tuple[tuple[int, int], ...]:
    """Returns (end of the sentence in characters, passage number) for each sentence that a passage holds."""
    held, found = [without_endings(passage) for passage in passages], []
    for start, end in sentences(text):
        holder = best_holder(text[start:end], held)
        if holder is not None:
            found.append((start + len(text[start:end].rstrip()), holder))
    return tuple(found)


def best_holder(text: str, held: Seq[set[str]]) -> int | None:
    """Returns the number of the word set that holds most of a text's words, weighted by rarity; None below one half.

    ``held``: sets of words as `wim_edge.words.without_endings` returns them.
    """
    counts = Counter(word for words in held for word in words)
    said = without_endings(text)
    worth = {word: math.log(1 + len(held) / max(1, counts[word])) for word in said}
    shares = [sum(worth[word] for word in said & words) for words in held]
    best = max(shares, default=0.0)
    return shares.index(best) if best > 0 and best >= _LEAST * sum(worth.values()) else None
