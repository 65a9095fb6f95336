"""Similarity of segments to the question, by an embedding model: it orders the most promising segments.

A vector takes about 0.1 s and is kept with the reading, so that the next question embeds other segments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from wim_edge.engine.protocols import Embedder, Vector
from wim_edge.library import SavedReading

AT_ONCE = 96
"""The most segments that are embedded before a reading continues."""
AFTER = 2
"""The segments that are read before any is embedded: often these suffice."""
_LAST_LATIN = "\u0250"
_STEP = 8  # segments between two progress reports


def is_mostly_latin(text: str) -> bool:
    """Returns whether at least half of a text's letters are Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < _LAST_LATIN for letter in letters) >= len(letters)


class Similarity:
    """Cosine similarities of segments and a question. Iterate `measure`; then ``found`` holds them by segment number.

    ``saved``: keeps the vectors; None: nothing is saved.
    """

    def __init__(self, embedder: Embedder, query: str, saved: SavedReading | None) -> None:
        self._embedder, self._query, self._saved = embedder, query, saved
        self._question: Vector | None = None
        self.found: dict[int, float] = {}
        self.known: set[int] = set()
        """The embedded segments."""

    def is_due(self, number: int, n_read: int) -> bool:
        """Returns whether to embed more segments before reading this one."""
        return number not in self.known and (n_read >= AFTER or not self._query)

    def unknown(self, order: Sequence[int]) -> list[int]:
        """Returns the first `AT_ONCE` segments of this order that are not embedded; all of them if nothing is asked."""
        unknown = [number for number in order if number not in self.known]
        return unknown[:AT_ONCE] if self._query else unknown

    def measure(self, texts: Mapping[int, str], check: Callable[[], None]) -> Iterator[int]:
        """Embeds texts and the question, and yields the number of texts done.

        ``check``: may raise to stop; the vectors made until then are kept.
        """
        fingerprint = self._embedder.fingerprint
        if self._question is None and self._query:
            self._question = self._embedder.query(self._query)
        vectors = self._saved.vectors(fingerprint, texts) if self._saved else {}
        if self._question is not None:  # damaged vectors are embedded anew
            width = self._question.shape
            vectors = {number: one for number, one in vectors.items() if one.shape == width and np.isfinite(one).all()}
        left = [number for number in texts if number not in vectors]
        new: dict[int, Vector] = {}
        try:
            embedded = zip(left, self._embedder.texts([texts[number] for number in left], check), strict=True)
            while some := dict(islice(embedded, _STEP)):
                new |= some
                yield len(vectors) + len(new)
        finally:
            if self._saved is not None and new:
                self._saved.save_vectors(fingerprint, {texts[number]: vector for number, vector in new.items()})
        self.known.update(texts)
        if self._question is not None:
            found = {number: float(vector @ self._question) for number, vector in (vectors | new).items()}
            self.found |= {number: near for number, near in found.items() if math.isfinite(near)}
