"""Character offsets of tokens, and of sentences among them.

Token ids don't give them: a token may be part of a character, and some tokenizers change the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from collections.abc import Sequence as Seq

import numpy as np

from wim_edge.documents import sentences
from wim_edge.engine.protocols import PLAIN_LETTERS

_SPACE = "\u2581"
_ASTRAY = 16  # bytes to look ahead for a piece that is not at its place


def beginnings(
    piece: Callable[[int], bytes], text: str, tokens: Seq[int], longest: int
) -> tuple[list[int], dict[int, int]]:
    """Returns the character offsets of the tokens and of the text's end, and the first tokens of sentences, each with
    its sentence's end in characters. In a sentence of more than ``longest`` tokens (a table), every word is one.

    ``piece``: returns the bytes of a token (`wim_edge.engine.protocols.Model.piece`).
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
    """Returns the character offsets of the tokens and of the text's end, and whether each token begins at a character
    (inside one, its offset is the next character's).

    SentencePiece writes a space as U+2581, so the two are treated as equal.
    """
    pieces, chars = [piece(token) for token in tokens], [char.translate(PLAIN_LETTERS) for char in text]
    if b"".join(pieces) != "".join(chars).encode():
        pieces = [one.replace(_SPACE.encode(), b" ") for one in pieces]
        chars = [char.replace(_SPACE, " ") for char in chars]
    edges = np.cumsum([0, *(len(char.encode()) for char in chars)])
    data, starts, at = "".join(chars).encode(), [], 0
    for found in pieces:
        place = data.find(found, at, at + len(found) + _ASTRAY)
        at = max(at, place)  # the tokenizer changed something: continue where it agrees again
        starts.append(at)
        at = min(at + len(found), len(data))
    offsets = np.searchsorted(edges, starts)
    whole = edges[offsets] == starts
    return [*map(int, offsets), len(text)], [bool(w) for w in whole & (offsets < len(text))]
