"""Similarity of segments to the question, by an embedding model: those that promise most by their words come first.

A vector takes about a tenth of a second, and is kept with the reading: the next question embeds others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from wim_edge.engine.protocols import Embedder, Vector
from wim_edge.library import SavedReading

AT_ONCE = 96
"""The most segments that are embedded before a reading goes on."""
AFTER = 2
"""The segments that are read in the order of their words before any is embedded: often these settle it."""
_LAST_LATIN = "\u0250"
_STEP = 8  # segments between two reports, and two looks at the reader's wish


def is_mostly_latin(text: str) -> bool:
    """Tells whether most letters of a text are Latin ones; True if it has none."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < _LAST_LATIN for letter in letters) >= len(letters)


class Similarity:
    """The cosine similarities of segments and a question; ``saved``: the reading that keeps vectors. Iterate `measure`;
    afterwards ``found`` holds them, -1 to 1, by the segments' numbers."""

    def __init__(self, embedder: Embedder, query: str, saved: SavedReading | None) -> None:
        self._embedder, self._query, self._saved = embedder, query, saved
        self._question: Vector | None = None
        self.found: dict[int, float] = {}
        self.known: set[int] = set()
        """The numbers of the segments that are embedded."""

    def is_due(self, number: int, n_read: int) -> bool:
        """Tells whether more segments are to be embedded before the one of this number is read."""
        return number not in self.known and (n_read >= AFTER or not self._query)

    def unknown(self, order: Sequence[int]) -> list[int]:
        """Returns those of these segments that are to be embedded next; without a question all of them, to be known to
        the next one."""
        unknown = [number for number in order if number not in self.known]
        return unknown[:AT_ONCE] if self._query else unknown

    def measure(self, texts: Mapping[int, str], check: Callable[[], None]) -> Iterator[int]:
        """Embeds these texts and the question, and yields how many are done. ``check`` may raise; the vectors
        made until then are kept."""
        fingerprint = self._embedder.fingerprint
        if self._question is None and self._query:
            self._question = self._embedder.query(self._query)
        vectors = self._saved.vectors(fingerprint, texts) if self._saved else {}
        if self._question is not None:  # what is damaged is embedded anew
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
