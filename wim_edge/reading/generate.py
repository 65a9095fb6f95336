"""Decoding: one token at a time, returned as whole characters."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from wim_edge.engine.protocols import Model, Sequence
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.cuts import LABELS, Cuts
from wim_edge.reading.grounding import Grounding


@dataclass
class Generation:
    """A text being decoded. Iterate `pieces`; then the fields hold the outcome.

    Args:
        refusal: a text that begins with these words, in any case, ends there and is empty.
        strip: drop leading white space.
        straight: a completion: nothing is cut from the text.
        may_loop: do not stop when the model repeats itself.
        grounding: allows only values of the passages; None: any.
        labels: the prompt labels that are echoes at a line's beginning (`wim_edge.reading.cuts`).
    """

    model: Model
    sequence: Sequence
    sampler: Sampler
    max_tokens: int
    stops: tuple[str, ...] = ()
    refusal: str = ""
    strip: bool = True
    straight: bool = False
    may_loop: bool = False
    grounding: Grounding | None = None
    labels: tuple[str, ...] = LABELS
    text: str = ""
    n_tokens: int = 0
    finish_reason: Literal["stop", "length", "repeated"] = "length"
    _begun: bool = False

    def __post_init__(self) -> None:
        self._cuts = Cuts(self.labels)

    def pieces(self) -> Iterator[str]:
        """Decodes until an end-of-generation token, a stop text, ``max_tokens``, an echo or a repeat.

        Yields whole characters; holds back what may become a stop text or a cut. Raises Interrupted,
        ContextOverflowError.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        held = written = ""
        tokens: list[int] = []
        while self.n_tokens < self.max_tokens:
            logits = self.sequence.logits
            token = self.sampler(self.grounding.held(written, logits) if self.grounding else logits)
            self.n_tokens += 1
            if self.model.is_eog(token):
                self.finish_reason = "stop"
                break
            tokens.append(token)
            text = decoder.decode(self.model.piece(token))
            held, written = held + text, written + text
            if not self._begun:
                held = held.lstrip() if self.strip else held
                if self.refusal and held.lower().startswith(self.refusal):
                    held, self.finish_reason = "", "stop"
                    break
            cut = min((at for stop in self.stops if (at := held.find(stop)) >= 0), default=-1)
            if cut >= 0:
                held, self.finish_reason = held[:cut], "stop"
                break
            if not self.may_loop and is_repeating(tokens):
                self.finish_reason = "repeated"
                break
            if self.n_tokens == self.max_tokens:
                break
            safe = len(held) - self._held_back(held)
            piece, held = self._out(held[:safe]), held[safe:]
            if piece:
                yield piece
            if self._cuts.ended:
                return
            self.sequence.append([token])
        held += decoder.decode(b"", final=True) if self.finish_reason == "length" else ""
        if rest := self._out(held, last=True):
            yield rest

    def run(self) -> str:
        """Decodes to the end and returns the stripped text."""
        for _ in self.pieces():
            pass
        return self.text.strip()

    def _out(self, piece: str, *, last: bool = False) -> str:
        """Adds a piece to the text and returns its clear part."""
        self._begun = self._begun or bool(piece)
        if not self.straight:
            piece = self._cuts.feed(piece, last=last)
            if self._cuts.ended:
                self.finish_reason = "repeated" if self._cuts.repeats.ended else "stop"
        self.text += piece
        return piece

    def _held_back(self, held: str) -> int:
        """Returns the number of characters at the end that may become a stop text or a refusal."""
        if not self._begun and self.refusal.startswith(held.lower()):
            return len(held)
        longest = max(map(len, self.stops), default=0)
        for n in range(min(longest, len(held)), 0, -1):
            if any(stop.startswith(held[-n:]) for stop in self.stops):
                return n
        return 0


_LONGEST_LOOP, _LOOP_TOKENS = 64, 24


def is_repeating(tokens: list[int]) -> bool:
    """Returns whether the end is a run three times or more, over 24 tokens or more: greedy decoding never leaves it."""
    for period in range(1, min(_LONGEST_LOOP, len(tokens) // 3) + 1):
        if tokens[-1] != tokens[-1 - period]:
            continue
        span = max(3, -(-_LOOP_TOKENS // period)) * period
        if span <= len(tokens) and tokens[-span + period :] == tokens[-span:-period]:
            return True
    return False
