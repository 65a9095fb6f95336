"""A scripted embedding model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence as Seq

import numpy as np

from wim_edge.engine.protocols import Vector

_NUMBERS = itertools.count()


class FakeEmbedder:
    """Implements `wim_edge.engine.protocols.Embedder`: ``near`` returns a text's similarity to any question, 0 to 1."""

    def __init__(self, near: Callable[[str], float]) -> None:
        self.near, self.closed = near, False
        self.fingerprint = f"fake-embedder-{next(_NUMBERS)}"
        self.embedded: list[str] = []
        """The embedded texts, in order."""

    def query(self, question: str) -> Vector:
        return np.array([1, 0], np.float32)

    def texts(self, texts: Seq[str], check: Callable[[], None]) -> Iterator[Vector]:
        return self.embed(map(self.tokenize, texts), check)

    def tokenize(self, text: str) -> list[int]:
        return [*map(ord, text)]

    def embed(self, inputs: Iterable[Seq[int]], check: Callable[[], None]) -> Iterator[Vector]:
        for tokens in inputs:
            check()
            text = "".join(map(chr, tokens))
            self.embedded.append(text)
            near = self.near(text)
            yield np.array([near, (1 - near**2) ** 0.5], np.float32)

    def close(self) -> None:
        self.closed = True
