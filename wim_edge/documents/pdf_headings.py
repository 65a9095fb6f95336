"""The headings of a PDF without bookmarks: short lines in larger or heavier letters than the text, above the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from statistics import median_low

from wim_edge.documents.pdf_lines import Line, fragments

_LARGER, _HEAVIER, _ALIKE = 1.2, 1.2, 0.05
"""A heading's size and weight, as shares of the text's, and the difference of two lines of one heading."""
_LONGEST, _LINES, _BODY = 120, 3, 40
"""The most characters and lines of a heading, and the least characters of the text that a line below it begins."""
_TIMES = 3
"""The pages from which a title is a running head."""
_NUMBER, _NO_TITLE = re.compile(r"(?:\w{1,9}\.?\s)?[\d.]*"), re.compile(r"[.!,;:。，；：]$|(?:\.\s?){4}")


def headings(pages: Sequence[Sequence[Line]]) -> dict[int, list[str]]:
    """Returns the titles on each page, in their order; pages count from 1."""
    sizes = [(line.height, line.weight, len(line.words)) for page in pages for line in page]
    if not sizes:
        return {}
    size, weight = (median_low([one[at] for one in sizes for _ in range(one[2])]) for at in (0, 1))
    found = {number: _on_page(page, size, weight) for number, page in enumerate(pages, start=1)}
    times = Counter(title for titles in found.values() for title in set(titles))
    return {number: [one for one in titles if times[one] < _TIMES] for number, titles in found.items()}


def _on_page(lines: Sequence[Line], size: float, weight: float) -> list[str]:
    """Returns the titles of a page with text below them, if need be on the next page: a cover has none."""
    found: list[str] = []
    waiting: list[str] = []
    has_text = False
    of_kind = groupby(lines, key=lambda line: (_rank(line, size, weight), round(line.height / size / _ALIKE)))
    for (rank, _), some in of_kind:
        block = list(some)
        text = " ".join(line.text for line in block)
        if not rank:
            if any(len(line.text) >= _BODY for line in block):
                found, waiting, has_text = found + waiting, [], True
        elif len(block) <= _LINES and len(text) <= _LONGEST and _is_title(text, rank):
            waiting.append(text)
    return found + (waiting if has_text and len(waiting) == 1 else [])


def _rank(line: Line, size: float, weight: float) -> int:
    """Returns 2 for a line in larger letters than the text's, 1 in heavier ones, 0 for all others and for rows."""
    is_bold = line.weight >= _HEAVIER * weight > 0
    rank = 2 if line.height >= _LARGER * size else int(is_bold and line.height > (1 - 2 * _ALIKE) * size)
    first, *cells = fragments(line) if rank else [line]
    return 0 if cells and (len(cells) > 1 or not _NUMBER.fullmatch(first.text)) else rank


def _is_title(text: str, rank: int) -> bool:
    """Tells whether a text may be a title; one that is no larger has neither a colon nor figures but its number."""
    own = text[_NUMBER.match(text).end() :]  # type: ignore[union-attr]
    return any(map(str.isalpha, own)) and not _NO_TITLE.search(text) and (rank > 1 or not re.search(r"[\d:]", own))
