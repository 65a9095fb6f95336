"""How much is read for an answer at most: some seconds, a share of the text, or all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?P<unit>s|m|h|%)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
ALL = "all"
WANTED = "20s, 5m, 10% or all"
PATTERN = rf"^(?:{ALL}|[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?(?:s|m|h|%))$"
"""The form, as JSON Schema has it."""


@dataclass(frozen=True)
class Within:
    """``seconds`` from the first segment on, ``share`` of the documents' tokens (0 to 1); None: no bound."""

    seconds: float | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str | None) -> Within:
        """Raises ValueError for a text of another form; None is all of it."""
        if text is None or text == ALL:
            return cls()
        found = _FORM.fullmatch(text)
        number = float(found["number"]) if found else 0.0
        if found is None or number == 0 or (found["unit"] == "%" and number > 100):
            raise ValueError(f"{text!r} is none of {WANTED}")
        if found["unit"] == "%":
            return cls(share=number / 100)
        return cls(seconds=number * _SECONDS[found["unit"]])

    def is_spent(self, seconds: float, tokens: int, of: int) -> bool:
        """Whether no further segment is read after so many seconds, and tokens of so many."""
        if self.seconds is not None:
            return seconds >= self.seconds
        return self.share is not None and tokens >= self.share * of
