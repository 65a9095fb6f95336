"""Grounded decoding: a model that has written half of a code, long number or address of the passages must finish it.

A small model finds such a value, begins to copy it and loses its way. From half of it on, the model may only go on as
the passages do. It may end the value, and a value that it has hardly begun may become another: one that stands nowhere
is not prevented but reported (`unsupported`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

import numpy as np

from wim_edge.engine.protocols import Logits, Model

VALUE = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w|https?://\S{1,400}|\w{0,40}\d[\w.,:/-]{0,80}\w|\d"
    r"|\w{1,40}-\w{0,40}\d[\w-]{0,80}"
)
"""A number, code, date in figures, or address."""
_TAIL = re.compile(r"[^\s(\[{\"'“„«]+$")
_SEEN = 200
"""The number of characters at the end of the written text that are looked at."""
_LEAST = 4
"""The number of characters of a value from which on it is held, if they are half of it."""
_CANDIDATES = 256
"""The number of likeliest tokens that are searched for those with which a value goes on."""


@dataclass
class Grounding:
    """Holds the values in a model's text to those of some texts."""

    model: Model
    texts: Seq[str]
    _values: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._values = frozenset(match.group() for text in self.texts for match in VALUE.finditer(text))

    def held(self, written: str, logits: Logits) -> Logits:
        """Returns the logits after the written text, with -inf for every token that leaves the value it has begun."""
        found = _TAIL.search(written[-_SEEN:])
        tail = found.group() if found else ""
        if len(tail) < _LEAST or not any(char.isdigit() or char == "@" for char in tail):
            return logits
        going = [value for value in self._values if len(tail) < len(value) <= 2 * len(tail) and value.startswith(tail)]
        wish = int(np.argmax(logits))
        ends = self.model.is_eog(wish) or not self._piece(wish)[:1].isalnum()
        if not going or ends or self._goes_on(tail, wish, going):
            return logits
        likely = np.argpartition(-logits, min(_CANDIDATES, len(logits) - 1))[:_CANDIDATES]
        allowed = [token for token in map(int, likely) if self._goes_on(tail, token, going)]
        allowed += [tokens[0] for value in going if (tokens := self.model.tokenize(value[len(tail) :]))]
        masked = np.full_like(logits, -np.inf)
        masked[allowed] = logits[allowed]
        return masked if np.isfinite(masked).any() else logits

    def _piece(self, token: int) -> str:
        return self.model.piece(token).decode("utf-8", "replace")

    def _goes_on(self, tail: str, token: int, going: Seq[str]) -> bool:
        """Tells whether a value goes on with this token."""
        piece = self._piece(token)
        text = tail + piece
        return bool(piece) and any(
            value.startswith(text) or (text.startswith(value) and not text[len(value) :][:1].isalnum())
            for value in going
        )
