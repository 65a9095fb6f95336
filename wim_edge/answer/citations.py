"""The sources of an answer in the model's own words, sentence by sentence.

A sentence is carried by the passage that holds most of its words, rare ones counting more; one of which no passage
holds half is carried by none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence as Seq

from wim_edge.documents import sentences
from wim_edge.words import without_endings

_LEAST = 0.5
"""The least share of a sentence's words that its passage holds."""


def cite(text: str, passages: Seq[str]) -> tuple[tuple[int, int], ...]:
    """Returns for each sentence that a passage carries its end, as characters of the text, and the passage's number."""
    held, found = [without_endings(passage) for passage in passages], []
    for start, end in sentences(text):
        carrier = best_holder(text[start:end], held)
        if carrier is not None:
            found.append((start + len(text[start:end].rstrip()), carrier))
    return tuple(found)


def best_holder(text: str, held: Seq[set[str]]) -> int | None:
    """Returns the number of the set that holds most of a text's words, rare ones counting more; None if it holds less
    than half of them. ``held``: the words of each, as `wim_edge.words.without_endings` has them."""
    counts = Counter(word for words in held for word in words)
    said = without_endings(text)
    worth = {word: math.log(1 + len(held) / max(1, counts[word])) for word in said}
    shares = [sum(worth[word] for word in said & words) for words in held]
    best = max(shares, default=0.0)
    return shares.index(best) if best > 0 and best >= _LEAST * sum(worth.values()) else None
