"""The bounds on reading for an answer: until a better passage is unlikely, some seconds, a share of the text, all."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>s|m|h|%)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
AUTO, ALL = "auto", "all"
WANTED = "auto, 20s, 5m, 10% or all"
PATTERN = rf"^(?:{AUTO}|{ALL}|[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?(?:s|m|h|%))$"
"""The form of a bound, as a regular expression for JSON Schema."""
UNLIKELY = 0.05
"""The probability of a better segment below which no further one is read, unless said otherwise."""
_MAX_SEGMENTS = 32
"""The most segments that auto reads. If none of them fits the question, the rest seldom do either; docs/choices.md
says what more would gain."""


@dataclass(frozen=True)
class Within:
    """The bounds of a reading: ``seconds`` from the first segment on, ``share`` of the documents' tokens (0 to 1),
    ``unread``: a better segment's probability below which it ends, or after so many ``segments``. None: no bound."""

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
        """Tells whether no further segment is read after so many seconds, so much of the text and so many segments.

        ``share``: that of the text with the next segment. ``unread``: `Ranking.unread`; if it is None, nothing is known
        of the other segments, and auto reads all of the text.
        """
        if self.unread is not None:
            return unread is not None and (unread < self.unread or segments >= (self.segments or segments + 1))
        if self.seconds is not None:
            return seconds >= self.seconds
        return self.share is not None and share > self.share
