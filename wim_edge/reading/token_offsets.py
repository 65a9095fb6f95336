"""The beginnings of a text's tokens, and of its sentences among them, in characters.

Token ids alone do not tell them: a token may be part of a character, and some tokenizers change the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from collections.abc import Sequence as Seq

import numpy as np

from wim_edge.documents import sentences

_SPACE = "\u2581"
_ASTRAY = 16  # bytes to look ahead for a piece that does not stand where it should


def beginnings(
    piece: Callable[[int], bytes], text: str, tokens: Seq[int], longest: int
) -> tuple[list[int], dict[int, int]]:
    """Returns the beginning of each token, in characters, with the text's end; and the tokens that a sentence begins
    with, each with that sentence's end in characters. In a sentence of more than ``longest`` tokens (a table, a JSON
    object) every word counts as a beginning.

    Args:
        piece: returns the bytes that a token stands for (`wim_edge.engine.protocols.Model.piece`).
    """
    chars, whole = char_offsets(piece, text, tokens)
    spans = [(bisect_right(chars, start) - 1, end) for start, end in sentences(text)]
    ends: dict[int, int] = {}
    for number, (first, end) in enumerate(spans):
        last = spans[number + 1][0] if number + 1 < len(spans) else len(tokens)
        inked = (at for at in range(first, last) if whole[at] and text[chars[at] : chars[at + 1]].strip())
        for at in inked:
            ends[at] = end
            if last - first <= longest:
                break
    return chars, ends


def char_offsets(piece: Callable[[int], bytes], text: str, tokens: Seq[int]) -> tuple[list[int], list[bool]]:
    """Returns the beginning of each token, in characters of the text, with the text's end; and whether it begins with a
    character, not inside one (then its beginning is that of the next character).

    SentencePiece writes a space as U+2581, and cannot tell the two apart: here they are not told apart either.
    """
    pieces = [piece(token) for token in tokens]
    if b"".join(pieces) != text.encode():  # else the tokens are the text
        text, pieces = text.replace(_SPACE, " "), [one.replace(_SPACE.encode(), b" ") for one in pieces]
    edges = np.cumsum([0, *(len(char.encode()) for char in text)])
    data, starts, at = text.encode(), [], 0
    for found in pieces:
        stands = data.find(found, at, at + len(found) + _ASTRAY)
        at = max(at, stands)  # a tokenizer may have dropped or changed something: go on where it agrees again
        starts.append(at)
        at = min(at + len(found), len(data))
    offsets = np.searchsorted(edges, starts)
    whole = edges[offsets] == starts
    return [*map(int, offsets), len(text)], [bool(w) for w in whole & (offsets < len(text))]
