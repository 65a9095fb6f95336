"""Grounded decoding: once a model begins to write a number, code or address of the passages, it writes that one.

A small model finds a value and then copies it wrongly. What it may go on with is therefore held to what the passages
go on with, from the second character of a value on; where it wishes to write a value that stands nowhere, it is let.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

import numpy as np

from wim_edge.engine.api import Logits, Model

VALUE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w|https?://\S+|\w*\d[\w.,:/-]*\w|\d|\w+(?:-\w+)*-\w*\d[\w-]*")
"""A number, code, date in figures, or address."""
_TAIL = re.compile(r"[^\s(\[{\"'“„«]+$")
_CANDIDATES = 256
"""Tokens, the likeliest ones, among which those are looked for that go on as a value does."""


@dataclass
class Grounding:
    """Holds what a model writes to the values of some texts."""

    model: Model
    texts: Seq[str]
    _values: frozenset[str] = field(init=False)
    _words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._values = frozenset(match.group() for text in self.texts for match in VALUE.finditer(text))
        self._words = frozenset(word for text in self.texts for word in re.findall(r"[^\W\d]+", text))

    def held(self, written: str, logits: Logits) -> Logits:
        """Returns the logits after what was written, -inf for every token that leaves the value it has begun."""
        found = _TAIL.search(written)
        tail = found.group() if found else ""
        if len(tail) < 2 or tail in self._words:
            return logits
        going = [value for value in self._values if value.startswith(tail) and value != tail]
        if not going:
            return logits
        ended = tail in self._values
        likely = np.argpartition(-logits, min(_CANDIDATES, len(logits) - 1))[:_CANDIDATES]
        allowed = [token for token in map(int, likely) if self._goes_on(tail, token, going, ended)]
        allowed += [self.model.tokenize(value[len(tail) :])[0] for value in going]
        masked = np.full_like(logits, -np.inf)
        masked[allowed] = logits[allowed]
        return masked

    def _goes_on(self, tail: str, token: int, going: Seq[str], ended: bool) -> bool:
        if self.model.is_eog(token):
            return ended
        piece = self.model.piece(token).decode("utf-8", "replace")
        if ended and not piece[:1].isalnum():
            return True
        text = tail + piece
        return bool(piece) and any(
            value.startswith(text) or (text.startswith(value) and not text[len(value) :][:1].isalnum())
            for value in going
        )
