"""The passages of a document: the pieces by which a library finds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from wim_edge.documents import Document, split

PASSAGE_CHARS = 1000
_SECTION_CHARS = 200  # a shorter section shares its passage with the next one


def passages(document: Document) -> Iterator[tuple[int, int]]:
    """Yields [start, end) of the document's pieces of at most `PASSAGE_CHARS`. A heading stays with what follows it: no
    piece goes on from one section into the next, unless it is hardly more than a heading so far."""
    starts = [0]
    for mark in document.marks:
        if mark.section and mark.start - starts[-1] >= _SECTION_CHARS:
            starts.append(mark.start)
    for start, end in pairwise([*starts, len(document.text)]):
        for segment in split(document.text[start:end], PASSAGE_CHARS, _as_codes):
            yield start + segment.start, start + segment.end


def _as_codes(text: str) -> Sequence[int]:
    """Returns one item for each character, in place of tokens."""
    return range(len(text))
