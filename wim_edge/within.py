"""How much is read for an answer: until a better passage is unlikely, some seconds, a share of the text, or all."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>s|m|h|%)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
AUTO, ALL = "auto", "all"
WANTED = "auto, 20s, 5m, 10% or all"
PATTERN = rf"^(?:{AUTO}|{ALL}|[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?(?:s|m|h|%))$"
"""The form, as JSON Schema has it."""
UNLIKELY = 0.05
"""Probability of a better segment below which none is read, where nothing else is said."""
_MAX_SEGMENTS = 32
"""Where nothing that was read fits the question, the rest seldom does either: what is gained behind so many is in
docs/choices.md."""


@dataclass(frozen=True)
class Within:
    """``seconds`` from the first segment on, ``share`` of the documents' tokens (0 to 1), ``unread``: the probability
    of a better segment among the others below which none is read, nor after so many ``segments``. None: no bound."""

    seconds: float | None = None
    share: float | None = None
    unread: float | None = None
    segments: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> Within:
        """Returns the bounds; None is auto. Raises ValueError for a text of another form."""
        if text is None or text == AUTO:
            return cls(unread=UNLIKELY, segments=_MAX_SEGMENTS)
        if text == ALL:
            return cls()
        found = _FORM.fullmatch(text)
        number = float(found["number"]) if found else 0.0
        if found is None or number == 0 or (found["unit"] == "%" and number > 100):
            raise ValueError(f"{text!r} is none of {WANTED}")
        if found["unit"] == "%":
            return cls(share=number / 100)
        return cls(seconds=number * _SECONDS[found["unit"]])

    def is_spent(self, seconds: float, share: float, segments: int, unread: float | None) -> bool:
        """Returns whether no further segment is read after so many seconds, so much of the text and so many segments.

        ``share``: of the text, with the next segment. ``unread``: `Ranking.unread`; where it is None, nothing is known
        of the others, and auto is all of it.
        """
        if self.unread is not None:
            return unread is not None and (unread < self.unread or segments >= (self.segments or segments + 1))
        if self.seconds is not None:
            return seconds >= self.seconds
        return self.share is not None and share > self.share
