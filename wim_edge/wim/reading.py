"""The reading: segment by segment, score each, write a margin where it may matter, take it out again.

Writing in the Margins, section 3.2 (algorithm 1). The cache over time, deep reading in one window:

    [opening][segment 0]                                  prefill
    [opening][segment 0][question]                        on a fork: its likelihood (likelihood.py)
    [opening][segment 0][extract][margin 0]               on a fork, closed as soon as the margin is there
    [opening][segment 0][segment 1]                       the forks have left no trace
    ...
    [opening][segment 0] ... [segment n][margins][query][answer]

Shallow reading is the same with windows of one segment: the cache returns to the opening before each.
A margin is written where the segment would be chosen if the reading ended now; a method that judges
margins (`verdict`) has them written first, everywhere, as in the paper.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from wim_edge.engine.api import Context, Interrupted, Model, Sequence, Snapshot
from wim_edge.engine.sampling import Sampler
from wim_edge.settings import Settings
from wim_edge.wim import events
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.clock import Clock
from wim_edge.wim.control import Control, Decision, Policy
from wim_edge.wim.generate import Generation
from wim_edge.wim.pattern import Choices
from wim_edge.wim.plan import Piece, Plan
from wim_edge.wim.quote import quote
from wim_edge.wim.relevance import Ranking, Relevance


@dataclass
class Reading:
    """One reading under way, its ``relevance`` opened; iterate `run`. Afterwards ``context_sequence``,
    ``ranking`` and ``margins`` hold what was read."""

    model: Model
    context: Context
    chat: ChatFormat
    plan: Plan
    settings: Settings
    choices: Choices
    sampler: Sampler
    relevance: Relevance | None
    control: Control
    clock: Clock
    policy: Policy | None = None
    margins: dict[int, events.MarginJudged] = field(default_factory=dict)
    """By segment."""
    kept: dict[int, Snapshot] = field(default_factory=dict)
    """Shallow reading: the states of the segments that would be chosen."""
    done: int = 0
    """Segments read, scored and, where it was due, given their margin."""
    read_tokens: int = 0
    """Document tokens evaluated, each counted once."""
    reread_tokens: int = 0
    """Document tokens evaluated again: to score a segment alone, or to answer from it."""
    decoded_tokens: int = 0
    window: int = 0
    """The window being read."""
    context_sequence: Sequence | None = None
    """System text and what has been read of the last window; None before the first."""

    def __post_init__(self) -> None:
        n_segments = len(self.plan.segments)
        self.ranking = self.relevance.ranking(n_segments) if self.relevance else Ranking(n_segments)

    def run(self) -> Iterator[events.Event]:
        """Read until the end, or until the reader or the policy asks for the answer.

        Raises Interrupted when the reader does; what was read until then is kept.
        """
        index = 0
        for number, window in enumerate(self.plan.windows):
            self.window = number
            self._open_window()
            for piece in window:
                if self._needs_reading:
                    yield from self._prefill(piece)
                    yield self._segment_read(index, piece)
                if self.relevance is not None:
                    yield from self._judge(index, piece, self.relevance)
                self.done += 1
                if self.control.wish:
                    raise Interrupted
                index += 1

    def chosen(self) -> list[int]:
        """Segments that the answer would draw on if the reading ended now, most relevant first."""
        return self.ranking.chosen(self.choices.max_passages, self.settings.relevance_threshold)

    def close(self) -> None:
        if self.context_sequence is not None:
            self.context_sequence.close()

    @property
    def _needs_reading(self) -> bool:
        pattern = self.choices.pattern
        return pattern.deep or pattern.margins or (self.relevance is not None and self.relevance.reads)

    def _open_window(self) -> None:
        """An empty cache but for the opening, which is evaluated once and kept across windows."""
        with self.clock.stage("prefill"):
            if self.context_sequence is None:
                self.context_sequence = self.context.sequence()
                self.context_sequence.append(self.plan.opening)
                self.context_sequence.checkpoint()
            else:
                self.context_sequence.truncate(len(self.plan.opening))
        if self.relevance is not None:
            with self.clock.stage("relevance"):
                self.relevance.window(self.context_sequence)

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

    def _judge(self, index: int, piece: Piece, relevance: Relevance) -> Iterator[events.Event]:
        """Score the segment just read; write its margin where one is due."""
        margin: _Margin | None = None
        if self.choices.pattern.margins and relevance.of_margins:
            margin = yield from self._write(index, piece)
        with self.clock.stage("relevance"):
            score = relevance.score(index, self._sequence, margin.text if margin else piece.segment.text)
        if score is not None:
            self.ranking.scores[index] = score
            if relevance.evaluates and margin is None:
                yield from self._evaluated(piece)
        due = index in self.chosen()
        rank = None if score is None else self.ranking.order().index(index) + 1
        yield events.SegmentScored(index, self.ranking.relevance(index), rank)
        if due and not self.choices.pattern.deep and self._needs_reading:
            self._keep(index)
        if self.choices.pattern.margins and due and margin is None:
            margin = yield from self._write(index, piece)
        if margin is not None:
            yield from self._judged(index, piece, margin)

    def _evaluated(self, piece: Piece) -> Iterator[events.Event]:
        """The relevance has put the segment into a sequence of its own."""
        if self._needs_reading:
            self.reread_tokens += len(piece.segment.tokens)
        else:
            self.read_tokens += len(piece.segment.tokens)
            yield events.ReadingProgress(self.read_tokens, self.plan.tokens)

    def _keep(self, index: int) -> None:
        """The states of the segments that would be chosen now, and no others."""
        chosen = self.chosen()
        self.kept = {segment: state for segment, state in self.kept.items() if segment in chosen}
        self.kept[index] = self._sequence.snapshot()

    def _write(self, index: int, piece: Piece) -> Generator[events.Event, None, _Margin]:
        """The margin of the segment just read; the sequence is as before."""
        with self._sequence.fork() as branch:
            with self.clock.stage("margins"):
                branch.append(self.plan.extract)
                if self.choices.verbatim:
                    return self._quote(branch, piece)
            generation = Generation(self.model, branch, self.sampler, self.choices.margin_tokens, self.chat.stops)
            try:
                for text in self.clock.each("margins", generation.pieces()):
                    yield events.MarginDelta(index, text)
            finally:
                self.decoded_tokens += generation.n_tokens
        text = " ".join(generation.text.split())
        return _Margin(text + "…" if text and generation.finish_reason == "length" else text, None)

    def _quote(self, branch: Sequence, piece: Piece) -> _Margin:
        found = quote(self.model, branch, piece.segment, self.choices.margin_tokens)
        self.decoded_tokens += found.n_tokens
        text = self.plan.documents[piece.segment.document].text[found.start : found.end]
        return _Margin(text, (found.start, found.end))

    def _judged(self, index: int, piece: Piece, margin: _Margin) -> Iterator[events.Event]:
        document = self.plan.documents[piece.segment.document]
        place = document.place(piece.segment.start, piece.segment.end)
        fields = (
            index, document.name, place.page, place.section, place.chars, margin.text, margin.quote,
            self.ranking.relevance(index), bool(margin.text) and index in self.chosen(),
        )  # fmt: skip
        yield events.MarginWritten(*fields)
        judged = events.MarginJudged(*fields)
        self.margins[index] = judged
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


@dataclass(frozen=True)
class _Margin:
    text: str
    quote: events.Chars | None
