"""Verbatim margins: decoding that can only quote the segment.

The second stage of MindRef (arXiv 2402.17010, section 3.3), within one segment: a beam search in which
every token must continue a run of tokens that occurs there. Where the best beam has one place left, the
sentence at that place is the margin. It cannot be invented, costs a few short batches, and its
characters are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from wim_edge.documents import Segment
from wim_edge.engine.api import Context, Logits, Model, Sequence
from wim_edge.engine.sampling import log_softmax
from wim_edge.wim.offsets import beginnings

_CLAUSE = re.compile(r"[^,;\s][,;](?=\s)")
_BEAMS = 4  # 8 chose no better
_COMPARED = 4  # tokens by which beams are compared: 2 and 3 chose worse, whole sentences no better
LONGEST_PREFIX = 16
"""Tokens after which the first place is taken even if the same words occur elsewhere."""


@dataclass(frozen=True)
class Quotation:
    """Characters ``[start, end)`` of the document, found with so many decoded tokens."""

    start: int
    end: int
    n_tokens: int


@dataclass(frozen=True)
class _Beam:
    places: tuple[int, ...]
    """Where in the segment's tokens the prefix begins."""
    prefix: tuple[int, ...] = ()
    logprob: float = 0.0

    @property
    def score(self) -> float:
        return self.logprob / max(1, len(self.prefix))


def quote(model: Model, context: Context, sequence: Sequence, segment: Segment, max_tokens: int) -> Quotation:
    """Let the model point into the segment, and take the sentence there.

    ``sequence`` of this ``context`` ends with the prompt that asks for a note, and does so afterwards; beams
    are forks of it, and four sequences at most are taken for them. Quotations begin
    where a sentence does; in one of more than ``max_tokens`` tokens (a table, a JSON object) anywhere,
    and take so many, up to the last comma or semicolon among them. Raises Interrupted, ContextOverflowError.
    """
    if not segment.text.strip():
        return Quotation(segment.start, segment.start, 0)
    text = segment.text
    chars, ends = beginnings(model.piece, text, segment.tokens, max_tokens)
    found = _search(model, context, sequence, segment.tokens, tuple(ends) or (0,))
    at = found.places[0]
    start, end = chars[at], ends.get(at, len(text))
    longest = chars[min(at + max_tokens, len(segment.tokens))]
    if longest < end:
        end = _clause_end(text, start, longest)
    start += _blank(text[start:end])
    end = max(end - _blank(text[start:end][::-1]), start + 1)
    return Quotation(segment.start + start, segment.start + end, len(found.prefix))


def _search(
    model: Model, context: Context, sequence: Sequence, tokens: tuple[int, ...], places: tuple[int, ...]
) -> _Beam:
    """The likeliest prefix with one place left."""
    if len(places) == 1:
        return _Beam(places)
    beams = sorted(_grown(model, _Beam(places), tokens, sequence.logits), key=lambda beam: -beam.score)[:_BEAMS]
    for _ in range(1, _COMPARED):
        after = zip(beams, _after(context, sequence, beams), strict=True)
        longer = [grown for beam, logits in after for grown in _grown(model, beam, tokens, logits)]
        beams = sorted(longer, key=lambda beam: -beam.score)[:_BEAMS]
    best = beams[0]
    while len(best.places) > 1 and len(best.prefix) < LONGEST_PREFIX:
        (logits,) = _after(context, sequence, [best])
        best = max(_grown(model, best, tokens, logits), key=lambda beam: beam.score)
    return best


def _after(context: Context, sequence: Sequence, beams: list[_Beam]) -> Logits:
    """Logits after each beam's prefix, float32 (len(beams), n_vocab): all in one batch, on forks."""
    with ExitStack() as stack:
        forks = [stack.enter_context(sequence.fork()) for _ in beams]
        return context.append_each([(fork, beam.prefix) for fork, beam in zip(forks, beams, strict=True)])


def _grown(model: Model, beam: _Beam, tokens: tuple[int, ...], logits: Logits) -> Iterator[_Beam]:
    """The beam with every next token that the segment allows; one at the segment's end stays as it is."""
    depth = len(beam.prefix)
    following: dict[int, list[int]] = {}
    for place in beam.places:
        if place + depth < len(tokens):
            following.setdefault(tokens[place + depth], []).append(place)
    if not following:
        yield beam
        return
    logprobs = log_softmax(logits)
    for token, places in following.items():
        form = _without_space(model, token) if depth == 0 else token
        form = form if logprobs[form] > logprobs[token] else token
        yield _Beam(tuple(places), (*beam.prefix, form), beam.logprob + float(logprobs[form]))


def _without_space(model: Model, token: int) -> int:
    """The token as a text begins with it: " The" in the middle of a segment is "The" at its head."""
    piece = model.piece(token).decode("utf-8", "replace")
    tokens = model.tokenize(piece.lstrip()) if piece.startswith(" ") else []
    return tokens[0] if len(tokens) == 1 else token


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())


def _clause_end(text: str, start: int, end: int) -> int:
    """The last end of a clause up to ``end``, else of a word, else ``end``."""
    cut = text[start : end + 1]
    clauses = list(_CLAUSE.finditer(cut))
    if clauses:
        return start + clauses[-1].end()
    words = max(cut.rfind(" "), cut.rfind("\n"))
    return start + words if words > 0 else end
