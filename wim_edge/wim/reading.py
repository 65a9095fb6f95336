"""The pattern: read segment by segment, write a margin after each, take it out again, judge it.

Writing in the Margins, section 3.2 (algorithm 1). The cache over time, for a context in one window:

    [opening][segment 0]                                  prefill
    [opening][segment 0][extract][margin 0]               on a fork, closed as soon as the margin is there
    [opening][segment 0][segment 1]                       the fork has left no trace
    ...
    [opening][segment 0] ... [segment n][margins][query][answer]

The verdict on a margin is taken in a short sequence of its own (relevance.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wim_edge.engine.api import Context, Interrupted, Model, Sequence
from wim_edge.engine.sampling import Sampler
from wim_edge.settings import Settings
from wim_edge.wim import events
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.clock import Clock
from wim_edge.wim.control import Control, Decision, Policy
from wim_edge.wim.generate import Generation
from wim_edge.wim.plan import Piece, Plan
from wim_edge.wim.relevance import Verdict


@dataclass
class Reading:
    """One reading under way; iterate `run`. Afterwards ``context_sequence`` and ``margins`` hold what was read."""

    model: Model
    context: Context
    chat: ChatFormat
    plan: Plan
    settings: Settings
    sampler: Sampler
    verdict: Verdict | None
    control: Control
    clock: Clock
    policy: Policy | None = None
    margins: list[events.MarginJudged] = field(default_factory=list)
    read_tokens: int = 0
    decoded_tokens: int = 0
    window: int = 0
    """The window being read."""
    context_sequence: Sequence | None = None
    """System text and what has been read of the last window; None before the first."""

    def run(self) -> Iterator[events.Event]:
        """Read until the end, or until the reader or the policy asks for the answer.

        Raises Interrupted when the reader does; what was read until then is kept.
        """
        index = 0
        for number, window in enumerate(self.plan.windows):
            self.window = number
            self._open_window()
            for piece in window:
                yield from self._prefill(piece)
                yield self._segment_read(index, piece)
                if self.verdict is not None:
                    yield from self._margin(index, piece)
                    if self.control.wish:
                        raise Interrupted
                index += 1

    def close(self) -> None:
        if self.context_sequence is not None:
            self.context_sequence.close()

    def _open_window(self) -> None:
        """An empty cache but for the opening, which is evaluated once and kept across windows."""
        with self.clock.stage("prefill"):
            if self.context_sequence is None:
                self.context_sequence = self.context.sequence()
                self.context_sequence.append(self.plan.opening)
                self.context_sequence.checkpoint()
            else:
                self.context_sequence.truncate(len(self.plan.opening))

    def _prefill(self, piece: Piece) -> Iterator[events.Event]:
        sequence, tokens = self._sequence, [*piece.lead, *piece.segment.tokens]
        lead = len(piece.lead)
        for start in range(0, len(tokens), self.context.n_batch):
            before, batch = len(sequence), tokens[start : start + self.context.n_batch]
            try:
                with self.clock.stage("prefill"):
                    sequence.append(batch)
            finally:
                evaluated = len(sequence) - before
                self.read_tokens += max(0, start + evaluated - max(start, lead)) if evaluated > 0 else 0
            yield events.ReadingProgress(self.read_tokens, self.plan.tokens)

    def _margin(self, index: int, piece: Piece) -> Iterator[events.Event]:
        """Write and judge the margin of the segment just read."""
        assert self.verdict is not None
        with self._sequence.fork() as branch:
            with self.clock.stage("margins"):
                branch.append(self.plan.extract)
            generation = Generation(
                self.model, branch, self.sampler, self.settings.margin_tokens, self.chat.stops
            )
            try:
                for text in self.clock.each("margins", generation.pieces()):
                    yield events.MarginDelta(index, text)
            finally:
                self.decoded_tokens += generation.n_tokens
        text = " ".join(generation.text.split())
        if text and generation.finish_reason == "length":
            text += "…"
        with self.clock.stage("relevance"):
            relevance = self.verdict.score(text) if text else 0.0
        relevant = bool(text) and relevance >= self.settings.relevance_threshold
        segment, document = piece.segment, self.plan.documents[piece.segment.document]
        place = document.place(segment.start, segment.end)
        margin = (index, document.name, place.page, place.section, place.chars, text, relevance, relevant)
        yield events.MarginWritten(*margin)
        judged = events.MarginJudged(*margin)
        self.margins.append(judged)
        yield judged
        if self.policy is not None:
            self.control.ask_for(self.policy(judged) or Decision.GO_ON)

    def _segment_read(self, index: int, piece: Piece) -> events.SegmentRead:
        segment = piece.segment
        document = self.plan.documents[segment.document]
        place = document.place(segment.start, segment.end)
        return events.SegmentRead(
            index,
            len(self.plan.segments),
            document.name,
            place.page,
            place.section,
            place.chars,
            len(segment.tokens),
        )

    @property
    def _sequence(self) -> Sequence:
        assert self.context_sequence is not None
        return self.context_sequence
