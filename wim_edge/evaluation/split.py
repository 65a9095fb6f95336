"""The rows of a data set on which choices are made, and the rows that are reported.

Prompts, weights and sizes that are chosen on the rows that a table shows make the table flatter itself. So the
first third of a data set, by `CHOSEN_SHARE`, is to choose on, and the rest to report. What belongs together (the
questions of a document, of an article) stays together. The rule needs nothing but the order of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Literal, TypeVar, get_args

from wim_edge.errors import InvalidRequestError

Part = Literal["all", "choose", "report"]
PARTS: tuple[Part, ...] = get_args(Part)
CHOSEN_SHARE = 1 / 3

T = TypeVar("T")


def take_part(rows: Iterable[T], part: Part, key: Callable[[T], Hashable]) -> list[T]:
    """Returns the rows of a part, in their order; rows with the same key are in the same part.

    Raises InvalidRequestError where nothing is left, as of a data set of one row.
    """
    rows = list(rows)
    if part == "all":
        return rows
    keys = list(dict.fromkeys(map(key, rows)))
    chosen = set(keys[: math.ceil(len(keys) * CHOSEN_SHARE)])
    kept = [row for row in rows if (key(row) in chosen) == (part == "choose")]
    if not kept:
        raise InvalidRequestError(f"of {len(keys)} rows none is left to {part}", "Leave --part away.")
    return kept
