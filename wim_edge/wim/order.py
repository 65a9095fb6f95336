"""Where to begin: the segments that share most words with the question first, tables of contents last.

Where each segment is read alone the order is free, and this one costs nothing beside the reading. Segments that share
no word follow in the order of the document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from wim_edge import words
from wim_edge.errors import InvalidRequestError

_LEADER = re.compile(r"(?:\.[ \t]?){4,}[ \t]*\w+[ \t]*$", re.MULTILINE)  # "Rainfall ........ 12"
_CONTENTS_SHARE = 0.5
"""Of a segment's lines: one with as many dot leaders names what stands elsewhere."""


def promising_first(texts: Sequence[str], question: str) -> tuple[int, ...]:
    """Returns the numbers of the texts in the order in which they are worth reading for the question."""
    shared: dict[int, float] = {}
    with suppress(InvalidRequestError):  # without FTS5 they are read as they stand
        shared = words.scores(texts, question)
    return tuple(sorted(range(len(texts)), key=lambda n: (_is_contents(texts[n]), -shared.get(n, 0.0), n)))


def _is_contents(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and len(_LEADER.findall(text)) >= _CONTENTS_SHARE * len(lines)
